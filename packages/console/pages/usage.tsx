// The charts of the overview: what the user used on each of the last days.
import { useState } from 'preact/hooks'
import { Chart } from '../chart.tsx'
import { currentPlace, type Place } from '../router.ts'
import { call } from '../session.ts'
import { Problem, Skeleton, useLoaded } from '../ui.tsx'
import { bytes, count } from '../value.tsx'

type Column =
  'requests' | 'errors' | 'storage_bytes' | 'downloaded_bytes' | 'prompt_tokens' | 'completion_tokens'
type Day = { day: string } & Record<Column, number>

const sum = (values: number[]): string => count(values.reduce((a, b) => a + b, 0))

const columns: Record<Column, { title: string; text: (value: number) => string }> = {
  requests: { title: 'Requests', text: count },
  errors: { title: 'Errors', text: count },
  storage_bytes: { title: 'Stored', text: bytes },
  downloaded_bytes: { title: 'Downloaded', text: bytes },
  prompt_tokens: { title: 'Prompt tokens', text: count },
  completion_tokens: { title: 'Completion tokens', text: count },
}
const names = Object.keys(columns) as Column[]

const dayMs = 86_400_000

/** The days of the person, or of all in a project or an organization, which have no `storage_bytes`. */
async function daysOf(place: Place): Promise<Day[]> {
  if (Object.keys(place).length === 0) return (await call('getUsage')).data.days
  const days = new Map<string, Day>()
  for (let i = 29; i >= 0; i--) {
    const day = new Date(Date.now() - i * dayMs).toISOString().slice(0, 10)
    days.set(day, { day, ...(Object.fromEntries(names.map((name) => [name, 0])) as Record<Column, number>) })
  }
  const meter = names.filter((name) => name !== 'storage_bytes')
  for (let cursor: string | null = ''; cursor !== null;) {
    const query = { ...place, meter, limit: 100, ...(cursor !== '' && { cursor }) }
    const { data } = await call('listUsage', { query })
    for (const each of data.data) {
      const day = days.get(each.day)
      if (day !== undefined) day[each.meter as Column] = Number(each.quantity)
    }
    cursor = data.pagination.next_cursor
  }
  return [...days.values()]
}

const ranges = [7, 30]

export function Usage() {
  const place = currentPlace()
  const loaded = useLoaded(async () => await daysOf(place), JSON.stringify(place))
  const [range, setRange] = useState(30)
  // Only the admins of a project or an organization see its usage.
  if (loaded.failure?.code === 'FORBIDDEN') return null
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  const days = loaded.value?.slice(-range)
  if (days === undefined) return <Skeleton />
  const placeless = Object.keys(place).length === 0
  const labels = days.map(({ day }) => day)
  const valuesOf = (name: Column): number[] => days.map((day) => day[name])
  const [requests, errors, storage] = [valuesOf('requests'), valuesOf('errors'), valuesOf('storage_bytes')]
  const tokens = days.map((day) => day.prompt_tokens + day.completion_tokens)
  return (
    <>
      <div class="heading">
        <h2>Last {range} days</h2>
        <div class="views" role="group" aria-label="Days">
          {ranges.map((each) => (
            <button
              key={each}
              type="button"
              class="plain"
              aria-pressed={each === range}
              onClick={() => setRange(each)}
            >
              {each} days
            </button>
          ))}
        </div>
      </div>
      <div class="charts">
        <Chart
          title="Requests"
          text={`${sum(requests)}, ${sum(errors)} with errors`}
          labels={labels}
          values={requests}
          bad={errors}
        />
        {placeless && (
          <Chart
            title="Storage"
            text={`${bytes(storage.at(-1)!)} now`}
            labels={labels}
            values={storage}
            format={bytes}
          />
        )}
        <Chart title="Tokens" text={sum(tokens)} labels={labels} values={tokens} />
      </div>
      <details>
        <summary>Usage of each day</summary>
        <div class="scroll" tabIndex={0} role="region" aria-label="Usage of each day">
          <table>
            <thead>
              <tr>
                <th scope="col">Day</th>
                {names.map((name) => (
                  <th key={name} scope="col" class="number">
                    {columns[name].title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {days.toReversed().map((day) => (
                <tr key={day.day}>
                  <th scope="row">{day.day}</th>
                  {names.map((name) => (
                    <td key={name} class="number">
                      {columns[name].text(day[name])}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </>
  )
}
