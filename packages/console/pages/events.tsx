// The event log with its live tail, and one event with what it changed.
import { useEffect, useRef, useState } from 'preact/hooks'
import { DetailPage } from '../detail.tsx'
import { Filters } from '../filters.tsx'
import { ListPage } from '../list.tsx'
import { detailAt, listAt } from '../model.ts'
import { href, navigate, type PageProps } from '../router.ts'
import { failureOf, isAllowed, stream, type Failure } from '../session.ts'
import { Problem } from '../ui.tsx'
import { EventList, Id, plainText } from '../value.tsx'

const maxLive = 200
const live = 'live'

export function EventsPage({ path, query, values }: PageProps) {
  const { page: list } = listAt(path)!
  if (!isAllowed('streamEvents')) return <ListPage {...{ list, values, path, query }} />
  if (query.has(live)) return <Live query={query} />
  return (
    <ListPage {...{ list, values, path, query }}>
      {() => (
        <p>
          <a href={href(path, { ...withoutCursor(query), [live]: '1' })}>Watch new events</a>
        </p>
      )}
    </ListPage>
  )
}

const withoutCursor = (query: URLSearchParams): Record<string, string> =>
  Object.fromEntries([...query].filter(([name]) => name !== 'cursor'))

/** Whether the stream has a parameter of the list. */
const isStreamed = (name: string): boolean => name === 'type' || name === 'project_id'

/** The events that happen from now on, the newest first. */
function Live({ query }: { query: URLSearchParams }) {
  const { page: list } = listAt('/events')!
  const filters = Object.fromEntries([...query].filter(([name]) => name !== live))
  const streamed = new URLSearchParams([...query].filter(([name]) => isStreamed(name)))
  return (
    <section>
      <header>
        <h1>New events</h1>
        <a href={href('/events', filters)}>All events</a>
      </header>
      <Filters
        filters={list.filters.filter(({ name }) => isStreamed(name))}
        query={query}
        go={(changes) => {
          const all = Object.entries({ ...filters, ...changes }).filter(([, value]) => value)
          navigate(href('/events', { ...(Object.fromEntries(all) as Record<string, string>), [live]: '1' }))
        }}
      />
      <Tail key={`${streamed}`} query={Object.fromEntries(streamed)} />
    </section>
  )
}

function Tail({ query }: { query: Record<string, string> }) {
  const [events, setEvents] = useState<any[]>([])
  const [ended, setEnded] = useState<Failure | null>(null)
  const [round, setRound] = useState(0)
  // Where the stream goes on after an interruption.
  const last = useRef<string | null>(null)
  useEffect(() => {
    const cursor = last.current === null ? {} : { cursor: last.current }
    const messages = stream('streamEvents', { query: { ...query, ...cursor } })
    async function follow(): Promise<void> {
      try {
        for await (const { event, id, data } of messages) {
          last.current = id ?? last.current
          if (event === 'message') setEvents((before) => [data, ...before].slice(0, maxLive))
          else setEnded({ message: `The server ended the stream: ${data.reason}.`, ...unknown })
        }
      } catch (error) {
        setEnded(failureOf(error))
      }
    }
    void follow()
    return () => void messages.return()
  }, [round])
  return (
    <>
      {ended !== null && (
        <Problem
          failure={ended}
          retry={() => {
            setEnded(null)
            setRound(round + 1)
          }}
        />
      )}
      {events.length === 0 && ended === null && (
        <p class="empty" role="status">
          Waiting for events. New events appear here.
        </p>
      )}
      <div role="log" aria-label="New events">
        <EventList events={events} about={({ data }) => <Id value={String(data.object.id ?? '')} />} />
      </div>
    </>
  )
}

const unknown = { code: null, constraint: null, requestId: null, problems: [] }

export function EventPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage detail={detail} values={values} path={path} without={['data']}>
      {({ data: { object, previous_attributes: previous } }) => (
        <>
          <h2>
            Object <Id value={String(object.id ?? '')} />
          </h2>
          {Object.keys(previous).length > 0 && <Changes previous={previous} object={object} />}
          <pre tabIndex={0}>{JSON.stringify(object, null, 2)}</pre>
        </>
      )}
    </DetailPage>
  )
}

function Changes({ previous, object }: { previous: Record<string, unknown>; object: any }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Changes">
      <table>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(previous).map(([name, before]) => (
            <tr key={name}>
              <td>{name}</td>
              <td>
                <del>{plainText(before)}</del>
              </td>
              <td>
                <ins>{plainText(object[name])}</ins>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
