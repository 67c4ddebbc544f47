// One resource: its fields, its actions, the lists about it, and its JSON.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { FormDialog } from './form.tsx'
import { InnerList } from './list.tsx'
import type { ConsoleField } from './model-types.ts'
import { listAt, model, type Detail } from './model.ts'
import { learnEach, remember } from './names.ts'
import { fill, href, navigate } from './router.ts'
import { call, download, failureOf, isAllowed, isPossible, type Answer, type Failure } from './session.ts'
import { Problem, Skeleton, useLoaded, usePolling } from './ui.tsx'
import { CopyId, EventList, Fields, isWaiting } from './value.tsx'

type Part = (item: any, reload: () => void, onReady: () => void) => ComponentChildren

interface Props {
  detail: Detail
  values: Record<string, string>
  path: string
  /** Fields, and paths of lists, that the page shows by itself. */
  without?: string[]
  /** What a page made by hand shows above the fields. */
  head?: Part
  /** Whether these parts load something, and call `onReady` once it is there. */
  isLoading?: boolean
  /** What a page made by hand shows between the fields and the lists. */
  children?: Part
}

interface Button {
  title: string
  operation: string
  kind: 'update' | 'remove' | 'action'
}

/** A form keeps its first item and ETag, so that If-Match detects concurrent changes. */
type Open = Button & Answer

/** The page is shown with its lists, so that nothing moves, or without those that take longer. */
const longestWaitMs = 1_000

/** Whether a number of parts is there, or has taken too long. */
export function useReady(): { isReady: (parts: number) => boolean; onReady: () => void } {
  const [ready, setReady] = useState(0)
  const [isLate, setIsLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), longestWaitMs)
    return () => clearTimeout(timer)
  }, [])
  return { isReady: (parts) => isLate || ready >= parts, onReady: () => setReady((n) => n + 1) }
}

export function DetailPage(props: Props) {
  const { detail, values, path, without = [], head, isLoading = false, children } = props
  const [open, setOpen] = useState<Open | null>(null)
  const [answer, setAnswer] = useState<any>(null)
  const [round, setRound] = useState(0)
  const { isReady, onReady } = useReady()
  const input = { path: values }
  const loaded = useLoaded(async () => {
    const include = detail.include === undefined ? {} : { query: { include: detail.include } }
    const answer = await call(detail.operation, { ...input, ...include })
    const list = model.lists.find((each) => each.item === detail.path) ?? null
    remember(list, [answer.data])
    const inner = Object.values<any>(answer.data).flat()
    await learnEach([answer.data, ...inner].filter((each) => typeof each === 'object' && each !== null))
    return answer
  }, `${path}#${round}`)
  const item = loaded.value?.data
  usePolling(isWaiting(item?.status), loaded.reload)
  // A resource that a person has only one of, such as the avatar.
  const isUnset = loaded.failure?.code === 'NOT_FOUND' && !detail.path.includes('{')
  const adding: Open = { title: 'Add', operation: detail.update!, kind: 'action', data: null, etag: null }
  if (loaded.failure !== null && item === undefined)
    return (
      <section>
        <header>
          <h1>{detail.title}</h1>
        </header>
        {isUnset ? (
          <div class="empty">
            <p>There is none yet.</p>
            {isAllowed(detail.update) && (
              <button type="button" class="main" onClick={() => setOpen(adding)}>
                Add
              </button>
            )}
            {open !== null && (
              <FormDialog
                title={open.title}
                operation={open.operation}
                values={values}
                item={null}
                onClose={() => setOpen(null)}
                onDone={() => setRound(round + 1)}
              />
            )}
          </div>
        ) : (
          <Problem failure={loaded.failure} retry={loaded.reload} />
        )}
      </section>
    )
  if (item === undefined) return <Skeleton rows={8} />
  const lists = detail.related.flatMap((related) => {
    const list = model.lists.find((each) => each.path === related.path)!
    return isAllowed(list.operation) && !without.includes(list.path) ? [{ ...related, list }] : []
  })
  // The ID stands beside the heading.
  const fields = detail.fields.filter(({ name }) => name !== 'id' && !without.includes(name))
  const inner = lists.filter(({ filter }) => filter === null)
  const isShown = isReady(inner.length + Number(isLoading))
  return (
    <>
      {!isShown && <Skeleton rows={8} />}
      <section class={isShown ? undefined : 'unready'} aria-busy={loaded.loading && !isWaiting(item.status)}>
        {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
        <header>
          <h1>{nameIn(detail.fields, item) ?? detail.title}</h1>
          {typeof item.id === 'string' && <CopyId id={item.id} isShown />}
          <div class="actions">
            {detail.downloads
              .filter(({ operation }) => isAllowed(operation))
              .map((each) => (
                <Download key={each.operation} {...each} values={values} />
              ))}
            {buttonsOf(detail, item).map((button) => (
              <button
                key={button.operation}
                type="button"
                class={button.kind}
                onClick={() => setOpen({ ...button, ...loaded.value! })}
              >
                {button.title}
              </button>
            ))}
          </div>
        </header>
        {head?.(item, () => setRound(round + 1), onReady)}
        {fields.length > 0 && <Fields fields={fields} item={item} />}
        {answer !== null && (
          <>
            <h2>Answer</h2>
            <pre tabIndex={0}>{JSON.stringify(answer, null, 2)}</pre>
          </>
        )}
        {children?.(item, loaded.reload, onReady)}
        {inner.map(({ list }) => (
          <InnerList key={list.path} {...{ list, values, round }} owner={item} onReady={onReady} />
        ))}
        {lists.some(({ filter }) => filter !== null) && (
          <nav class="related" aria-label="Related">
            {lists
              .filter(({ filter }) => filter !== null)
              .map(({ list, filter }) => (
                <a key={list.path} href={href(fill(list.path, values), { [filter!]: item.id })}>
                  {list.title}
                </a>
              ))}
          </nav>
        )}
        {detail.events !== null && typeof item.id === 'string' && isAllowed('listEvents') && (
          <ItsEvents key={round} type={detail.events} item={item} />
        )}
        <details>
          <summary>JSON</summary>
          <pre tabIndex={0}>{JSON.stringify(item, null, 2)}</pre>
        </details>
        {open !== null && (
          <FormDialog
            title={open.title}
            operation={open.operation}
            values={values}
            item={open.kind === 'update' ? open.data : null}
            etag={open.etag}
            onClose={() => {
              setOpen(null)
              loaded.reload()
            }}
            onDone={(result) => {
              const above = path.slice(0, path.lastIndexOf('/'))
              if (open.kind === 'remove' && listAt(above) !== null) return navigate(href(above))
              setAnswer(open.kind === 'action' && result?.id !== item.id ? result : null)
              setRound(round + 1)
            }}
          />
        )}
      </section>
    </>
  )
}

function nameIn(fields: ConsoleField[], item: any): string | undefined {
  const named = ['name', 'title', 'number', 'email', 'url', 'event_type'].find((name) => item[name])
  const isField = fields.some(({ name }) => name === named)
  return named !== undefined && isField ? item[named] : item.user?.name
}

/** The actions that the key may call and that the state of the resource allows. */
function buttonsOf(detail: Detail, item: any): Button[] {
  const buttons = [
    { title: 'Edit', operation: detail.update, kind: 'update' as const },
    ...detail.actions.map((action) => ({ ...action, kind: 'action' as const })),
    { title: detail.removes ?? 'Delete', operation: detail.remove, kind: 'remove' as const },
  ]
  return buttons.filter(
    (button): button is Button => isAllowed(button.operation) && isPossible(button.operation, item),
  )
}

function Download(props: { title: string; operation: string; values: Record<string, string> }) {
  const [failure, setFailure] = useState<Failure | null>(null)
  return (
    <>
      <button
        type="button"
        onClick={() => {
          setFailure(null)
          download(props.operation, { path: props.values }).catch((error) => setFailure(failureOf(error)))
        }}
      >
        {props.title}
      </button>
      {failure !== null && <Problem failure={failure} />}
    </>
  )
}

const searched = 100

/** The events of the resource among the latest events of its type. They are loaded when they are opened. */
function ItsEvents({ type, item }: { type: string; item: any }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Events</summary>
      {isOpen && <LatestEvents type={type} item={item} />}
    </details>
  )
}

function LatestEvents({ type, item }: { type: string; item: any }) {
  const projectId = type === 'project.*' ? item.id : item.project_id
  const filter = { type, order: 'desc', ...(typeof projectId === 'string' && { project_id: projectId }) }
  const query = { ...filter, limit: searched }
  const loaded = useLoaded(async () => (await call('listEvents', { query })).data.data as any[], item.id)
  if (loaded.failure !== null) return <Problem failure={loaded.failure} retry={loaded.reload} />
  if (loaded.value === null) return <Skeleton rows={3} />
  const events = loaded.value.filter(({ data }) => data.object.id === item.id)
  return (
    <>
      <EventList
        events={events}
        about={({ data }) => <span class="soft">{Object.keys(data.previous_attributes).join(', ')}</span>}
      />
      {loaded.value.length === searched && (
        <p>
          Earlier events: <a href={href('/events', filter)}>all of {type}</a>
        </p>
      )}
      {events.length === 0 && (
        <p class="soft">None of the latest {loaded.value.length} events is about it.</p>
      )}
    </>
  )
}
