// The charts of the overview: what the user used on each of the last days.
import { useState } from 'preact/hooks'
import { Chart, Share } from '../chart.tsx'
import { learn, nameOf } from '../names.ts'
import { currentPlace, type Place } from '../router.ts'
import { call } from '../session.ts'
import { Problem, Segments, Skeleton, useLoaded, useOnReady } from '../ui.tsx'
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

interface Used {
  days: Day[]
  /** Of the person only. */
  hours: Array<Record<'requests' | 'client_errors' | 'server_errors', number> & { hour: string }>
  /** The requests by project, most first; without the ID those outside projects. */
  projects: Array<{ project_id: string | null; quantity: number }>
}

const shownProjects = 6

async function usedIn(place: Place): Promise<Used> {
  const query = { group_by: ['project_id'], meter: ['requests'], limit: 100, ...place }
  const { data } = (await call('listUsage', { query })).data
  const projects = data.sort((a: any, b: any) => b.quantity - a.quantity).slice(0, shownProjects)
  await learn(projects)
  if (Object.keys(place).length > 0) return { days: await daysOf(place), hours: [], projects }
  return { ...(await call('getUsage', { query: { hours: 24 } })).data, projects }
}

/** The days of all in a project or an organization, which have no `storage_bytes`. */
async function daysOf(place: Place): Promise<Day[]> {
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

const ranges: Array<[string, string]> = [
  ['1', '24 hours'],
  ['7', '7 days'],
  ['30', '30 days'],
]

export function Usage({ round, onReady }: { round: number; onReady: () => void }) {
  const place = currentPlace()
  const loaded = useLoaded(async () => await usedIn(place), `${JSON.stringify(place)} ${round}`)
  useOnReady(!loaded.loading, onReady)
  const [range, setRange] = useState('30')
  // Only the admins of a project or an organization see its usage.
  if (loaded.failure?.code === 'FORBIDDEN') return null
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.value === null) return <Skeleton />
  const { hours, projects } = loaded.value
  const offered = ranges.filter(([days]) => days !== '1' || hours.length > 0)
  const days = loaded.value.days.slice(-range)
  const [, text] = offered.find(([each]) => each === range) ?? ranges[2]
  return (
    <>
      <div class="heading">
        <h2>Last {text}</h2>
        <Segments label="Range" options={offered} value={range} choose={setRange} />
      </div>
      <div class="charts">{text === '24 hours' ? <Hours hours={hours} /> : <Days days={days} />}</div>
      {projects.length > 1 && (
        <>
          <h3>Requests by project in 30 days</h3>
          <div class="charts">
            {projects.map(({ project_id: id, quantity }) => (
              <Share
                key={id}
                title={id === null ? 'Without a project' : (nameOf(id) ?? id)}
                text={count(quantity)}
                whole={projects.reduce((all, each) => all + each.quantity, 0)}
                parts={[quantity, 0]}
              />
            ))}
          </div>
        </>
      )}
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

const Requests = (props: { labels: string[]; requests: number[]; errors: number[] }) => (
  <Chart
    title="Requests"
    text={`${sum(props.requests)}, ${sum(props.errors)} with errors`}
    labels={props.labels}
    values={props.requests}
    bad={props.errors}
  />
)

function Hours({ hours }: Pick<Used, 'hours'>) {
  const labels = hours.map(({ hour }) => hour)
  const server = hours.map((each) => each.server_errors)
  const errors = hours.map((each, i) => each.client_errors + server[i])
  const requests = hours.map((each) => each.requests)
  return (
    <>
      <Requests {...{ labels, requests, errors }} />
      <Chart
        title="Errors"
        text={`${sum(errors)}, ${sum(server)} of the server`}
        labels={labels}
        values={errors}
        bad={server}
      />
    </>
  )
}

function Days({ days }: Pick<Used, 'days'>) {
  const labels = days.map(({ day }) => day)
  const valuesOf = (name: Column): number[] => days.map((day) => day[name])
  const [requests, errors, storage] = [valuesOf('requests'), valuesOf('errors'), valuesOf('storage_bytes')]
  const tokens = days.map((day) => day.prompt_tokens + day.completion_tokens)
  return (
    <>
      <Requests {...{ labels, requests, errors }} />
      {Object.keys(currentPlace()).length === 0 && (
        <Chart
          title="Storage"
          text={`${bytes(storage.at(-1)!)} now`}
          labels={labels}
          values={storage}
          format={bytes}
        />
      )}
      <Chart title="Tokens" text={sum(tokens)} labels={labels} values={tokens} />
    </>
  )
}
