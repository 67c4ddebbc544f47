// Deliveries of webhooks by endpoint, what each endpoint answered, and how they are sent again.
import { useState } from 'preact/hooks'
import { useBulk } from '../bulk.tsx'
import { DetailPage } from '../detail.tsx'
import { Filters } from '../filters.tsx'
import { goFrom, isForConsole, Pages, PlaceNote } from '../list.tsx'
import { detailAt, listAt } from '../model.ts'
import { remember } from '../names.ts'
import { href, type PageProps } from '../router.ts'
import { call, isAllowed } from '../session.ts'
import { createdIn, timeName, timeNames, timeText } from '../times.ts'
import { Dialog, Problem, Segments, Skeleton, useLoaded, usePolling } from '../ui.tsx'
import { Id, isWaiting, State, Time } from '../value.tsx'

const failing = 'failing'
const statuses: Array<[string, string]> = [
  ['', 'All'],
  [failing, 'Failed'],
  ['succeeded', 'Delivered'],
]
const pageSize = 50

/** Whether an attempt has failed: the delivery is given up, or is tried again later. */
const isFailing = ({ status, attempts }: any): boolean =>
  status === 'failed' || (status === 'pending' && attempts.length > 0)

const lastOf = ({ attempts }: any): string | undefined => attempts.at(-1)?.started_at

/** Whether a delivery that was sent again has had no attempt since. */
const isSending = (row: any): boolean =>
  'sentAfter' in row && row.status === 'pending' && lastOf(row) === row.sentAfter

export function DeliveriesPage({ path, query }: PageProps) {
  const { page: list } = listAt(path)!
  const go = goFrom(path, query)
  const status = query.get('status') ?? ''
  const time = query.get(timeName) ?? ''
  const key = query.toString()
  const endpoints = useLoaded(async () => {
    if (!isAllowed('listWebhookEndpoints')) return []
    const { data } = await call('listWebhookEndpoints', { query: { limit: 100 } })
    remember(listAt('/webhooks/endpoints')!.page, data.data)
    return data.data as any[]
  }, '')
  const page = useLoaded(async () => {
    const asked = Object.fromEntries([...query].filter(([name]) => !isForConsole(list, name)))
    const sent = {
      ...asked,
      ...createdIn(time),
      ...(status === failing && { status: ['failed', 'pending'] }),
    }
    const { data } = await call(list.operation, { query: { order: 'desc', limit: pageSize, ...sent } })
    if (status === failing) data.data = data.data.filter(isFailing)
    return data
  }, key)
  // What was sent again stays, although it may no longer be among those that failed. It is being sent until
  // it has another attempt.
  const [resent, setResent] = useState<{ key: string; rows: any[] }>({ key, rows: [] })
  const own = resent.key === key ? resent.rows : []
  const keep = (row: any): void =>
    setResent(({ key: before, rows }) => {
      const kept = before === key ? rows : []
      const { sentAfter } = kept.find(({ id }) => id === row.id) ?? row
      return { key, rows: [...kept.filter(({ id }) => id !== row.id), { sentAfter, ...row }] }
    })
  const others = (page.value?.data ?? []).filter(({ id }: any) => own.every((each) => each.id !== id))
  const rows = [...others, ...own].toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))
  usePolling(
    others.some((row: any) => isWaiting(row.status)),
    page.reload,
  )
  const sent = own.filter(({ status }) => isWaiting(status))
  usePolling(sent.length, () => {
    for (const { id } of sent)
      call('getWebhookDelivery', { path: { id } }).then(
        ({ data }) => keep(data),
        () => {},
      )
  })
  const choice = list.filters.find(({ name }) => name === 'endpoint_id')!
  const filters = [
    {
      ...choice,
      title: 'Endpoint',
      kind: 'choice' as const,
      values: endpoints.value?.map(({ id }) => id) ?? [],
    },
    ...list.filters.filter(({ name }) => name === 'event_type'),
  ]
  const failure = page.failure ?? endpoints.failure
  return (
    <section>
      <header>
        <h1>{list.title}</h1>
      </header>
      <PlaceNote list={list} />
      <div class="toolbar">
        <Segments
          label="State"
          options={statuses}
          value={status}
          choose={(value) => go({ status: value, cursor: null })}
        />
        <Segments
          label="Time"
          options={[['', 'Any time'], ...timeNames.map((name): [string, string] => [name, timeText(name)!])]}
          value={time}
          choose={(value) => go({ [timeName]: value, cursor: null })}
        />
      </div>
      {endpoints.value !== null && <Filters filters={filters} query={query} go={go} />}
      {failure !== null && (
        <Problem
          failure={failure}
          retry={() => {
            page.reload()
            endpoints.reload()
          }}
        />
      )}
      {failure === null && (page.value === null || endpoints.value === null) && <Skeleton />}
      {page.value !== null && endpoints.value !== null && (
        <>
          <Deliveries key={key} rows={rows} endpoints={endpoints.value} keep={keep} />
          <Pages query={query} next={page.value.pagination.next_cursor} go={go} />
        </>
      )}
    </section>
  )
}

interface DeliveriesProps {
  rows: any[]
  endpoints: any[]
  /** Takes the state of a delivery that was sent again. */
  keep: (row: any) => void
}

/** The deliveries of each endpoint, the newest first. */
function Deliveries({ rows, endpoints, keep }: DeliveriesProps) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const [shown, setShown] = useState<string | null>(null)
  const bulk = useBulk<any>(
    async ({ id }) => {
      const { data } = await call('redeliverWebhookDelivery', { path: { id } })
      keep({ ...data, sentAfter: lastOf(data) })
      setSelected((before) => new Set([...before].filter((each) => each !== id)))
    },
    ({ event_type }) => event_type,
  )
  if (rows.length === 0) return <p class="empty">No delivery matches.</p>
  const endpointOf = (id: string): any => endpoints.find((each) => each.id === id)
  const canResend = (row: any): boolean =>
    isAllowed('redeliverWebhookDelivery') &&
    isFailing(row) &&
    !isSending(row) &&
    endpointOf(row.endpoint_id)?.enabled !== false
  const failed = rows.filter(canResend)
  const chosen = failed.filter(({ id }) => selected.has(id))
  const open = rows.find(({ id }) => id === shown)
  const select = (items: any[], isOn: boolean): void =>
    setSelected((before) => {
      const ids = new Set(items.map(({ id }) => id))
      return new Set([...[...before].filter((id) => !ids.has(id)), ...(isOn ? ids : [])])
    })
  return (
    <>
      <div class="selection">
        {failed.length > 0 && (
          <label>
            <input
              type="checkbox"
              checked={chosen.length === failed.length}
              onChange={({ currentTarget }) => select(failed, currentTarget.checked)}
            />
            {` Select all ${failed.length} that failed`}
          </label>
        )}
        {(failed.length > 0 || bulk.isBusy) && (
          <button
            type="button"
            class="main"
            disabled={bulk.isBusy || chosen.length === 0}
            onClick={() => void bulk.run(chosen)}
          >
            Resend {chosen.length > 0 && chosen.length}
          </button>
        )}
        {bulk.shown}
      </div>
      {[...Map.groupBy(rows, (row) => row.endpoint_id as string)].map(([id, its]) => (
        <section key={id} class="deliveries">
          <h2>
            <Id value={id} /> {endpointOf(id)?.enabled === false && <State value="disabled" />}
          </h2>
          <ol class="scroll">
            {its.map((row) => (
              <li key={row.id}>
                <input
                  type="checkbox"
                  aria-label={`Select ${row.event_type}`}
                  disabled={!canResend(row)}
                  checked={selected.has(row.id)}
                  onChange={({ currentTarget }) => select([row], currentTarget.checked)}
                />
                <DeliveryState {...row} />
                <button type="button" class="plain" onClick={() => setShown(row.id)}>
                  {row.event_type}
                </button>
                <span class="soft">{row.attempts.at(-1)?.error}</span>
                <Time value={row.created_at} />
              </li>
            ))}
          </ol>
        </section>
      ))}
      {open !== undefined && (
        <Dialog title={open.event_type} kind="drawer" onClose={() => setShown(null)}>
          <p>
            <DeliveryState {...open} /> <Time value={open.created_at} /> to <Id value={open.endpoint_id} />
          </p>
          <div class="actions">
            {canResend(open) && (
              <button type="button" class="main" disabled={bulk.isBusy} onClick={() => void bulk.run([open])}>
                Resend
              </button>
            )}
            <a class="button" href={href(`/events/${open.event_id}`)}>
              Event
            </a>
            <a class="button" href={href(`/webhooks/deliveries/${open.id}`)}>
              Delivery
            </a>
          </div>
          {bulk.shown}
          <Exchange {...open} />
        </Dialog>
      )}
    </>
  )
}

const DeliveryState = (row: any) => (
  <State
    value={isSending(row) ? 'sending' : row.status === 'pending' && isFailing(row) ? 'retrying' : row.status}
  />
)

export function DeliveryPage({ path, values }: PageProps) {
  const { page: detail } = detailAt(path)!
  return (
    <DetailPage detail={detail} values={values} path={path} without={['attempts', 'request']}>
      {(delivery) => <Exchange {...delivery} />}
    </DetailPage>
  )
}

const Answer = ({ status, isGood }: { status: number | null; isGood: boolean }) => (
  <span class={`state ${isGood ? 'good' : 'bad'}`}>{status ?? 'no answer'}</span>
)

interface ExchangeProps {
  attempts: Attempt[]
  request: { url: string; headers: Record<string, string>; body: unknown } | null
}

interface Attempt {
  started_at: string
  duration_ms: number
  response_status: number | null
  response_body: string | null
  error: string | null
}

/** What the endpoint answered to each attempt, the latest first, and the request. */
function Exchange({ attempts, request }: ExchangeProps) {
  return (
    <>
      <h2>Attempts</h2>
      {attempts.length === 0 && <p class="empty">No request has been sent yet.</p>}
      <ol class="attempts" reversed>
        {attempts.toReversed().map(({ started_at, duration_ms, response_status, response_body, error }) => (
          <li key={started_at}>
            <Answer status={response_status} isGood={error === null} /> <Time value={started_at} />{' '}
            <span class="soft">{duration_ms} ms</span> {error}
            {response_body && <pre tabIndex={0}>{response_body}</pre>}
          </li>
        ))}
      </ol>
      {request !== null && (
        <>
          <h2>Request</h2>
          <pre tabIndex={0}>
            POST {request.url}
            {Object.entries(request.headers).map(([name, value]) => `\n${name}: ${value}`)}
            {`\n\n${JSON.stringify(request.body, null, 2)}`}
          </pre>
        </>
      )}
    </>
  )
}
