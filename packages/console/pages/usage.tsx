// The charts of the overview: what the user used on each of the last days.
import { Chart } from '../chart.tsx'
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

export function Usage() {
  const loaded = useLoaded(async () => (await call('getUsage')).data.days as Day[], 'usage')
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  const days = loaded.value
  if (days === null) return <Skeleton />
  const labels = days.map(({ day }) => day)
  const valuesOf = (name: Column): number[] => days.map((day) => day[name])
  const [requests, errors, storage] = [valuesOf('requests'), valuesOf('errors'), valuesOf('storage_bytes')]
  const tokens = days.map((day) => day.prompt_tokens + day.completion_tokens)
  return (
    <>
      <h2>Last {days.length} days</h2>
      <div class="charts">
        <Chart
          title="Requests"
          text={`${sum(requests)}, ${sum(errors)} with errors`}
          labels={labels}
          values={requests}
          bad={errors}
        />
        <Chart title="Storage" text={`${bytes(storage.at(-1)!)} now`} labels={labels} values={storage} />
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
