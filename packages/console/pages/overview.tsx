// The first page: what to do first, what was used, what is used of the limits, and the latest events.
import { href } from '../router.ts'
import { listAt } from '../model.ts'
import { call, isAllowed } from '../session.ts'
import { Problem, Skeleton, useLoaded, type Loaded } from '../ui.tsx'
import { bytes, count, EventList } from '../value.tsx'
import { Usage } from './usage.tsx'

/** First steps: each is done when something of the limit is used. */
const steps = [
  { limit: 'projects', text: 'Create a project', path: '/projects' },
  { limit: 'files', text: 'Upload a file', path: '/storage/files' },
  { limit: 'knowledge_bases', text: 'Create a knowledge base', path: '/ai/knowledge' },
  { limit: 'webhook_endpoints', text: 'Receive events by webhook', path: '/webhooks/endpoints' },
]

export function Overview() {
  const limits = useLoaded(
    async () => (isAllowed('getLimits') ? ((await call('getLimits')).data.limits as Limit[]) : []),
    'limits',
  )
  return (
    <section>
      <header>
        <h1>Home</h1>
      </header>
      <Health />
      {!limits.loading && <Steps limits={limits.value ?? []} />}
      {isAllowed('getUsage') && <Usage />}
      <div class="columns">
        {isAllowed('getLimits') && <Limits limits={limits} />}
        {isAllowed('listEvents') && <Events />}
      </div>
    </section>
  )
}

/** What does not work: parts of the server, and endpoints that the platform has disabled. */
function Health() {
  const isShown = isAllowed('listWebhookEndpoints')
  const loaded = useLoaded(async () => {
    const query = { enabled: false, limit: 100 }
    const [readiness, endpoints] = await Promise.all([
      fetch('/readyz').then(async (response) => await response.json()),
      isShown ? call('listWebhookEndpoints', { query }) : { data: { data: [] } },
    ])
    const failing = endpoints.data.data.filter((each: any) => each.disabled_reason !== null)
    const missing = Object.keys(readiness.checks).filter((name) => readiness.checks[name] !== 'ok')
    return { missing, failing: failing as any[] }
  }, 'health')
  if (loaded.value === null) return null
  const { missing, failing } = loaded.value
  return (
    <>
      {missing.length > 0 && (
        <p class="problem" role="alert">
          The server is not whole: {missing.join(', ')}. <a href="/readyz">Its checks</a>
        </p>
      )}
      {failing.map(({ id, url, disabled_reason: reason }) => (
        <p key={id} class="problem" role="alert">
          The platform disabled <a href={href(`/webhooks/endpoints/${id}`)}>{url}</a>:{' '}
          {reason === 'gone' ? 'it answered 410.' : 'it failed for five days.'}
        </p>
      ))}
    </>
  )
}

function Steps({ limits }: { limits: Limit[] }) {
  const shown = steps.flatMap((step) => {
    const used = limits.find(({ name }) => name === step.limit)?.used ?? 0
    return isAllowed(listAt(step.path)?.page.operation ?? null) ? [{ ...step, used }] : []
  })
  if (shown.every(({ used }) => used > 0)) return null
  return (
    <>
      <h2>First steps</h2>
      <ol class="steps">
        {shown.map(({ text, path, used }) => (
          <li key={path} class={used > 0 ? 'done' : ''}>
            <a href={href(path)}>{text}</a>
            {used > 0 && <span class="soft"> done</span>}
          </li>
        ))}
      </ol>
    </>
  )
}

interface Limit {
  name: string
  unit: string
  limit: number | null
  used: number
}

function Limits({ limits: loaded }: { limits: Loaded<Limit[]> }) {
  return (
    <div>
      <h2>Limits</h2>
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      {loaded.value === null && loaded.failure === null && <Skeleton />}
      <ul class="limits">
        {loaded.value
          ?.filter(({ limit }) => limit !== null)
          .map(({ name, unit, limit, used }) => (
            <li key={name}>
              <label for={`limit-${name}`}>{name.replaceAll('_', ' ')}</label>
              <span class="soft">
                {amount(used, unit)} of {amount(limit!, unit)}
              </span>
              <meter id={`limit-${name}`} max={Math.max(1, limit!)} high={limit! * 0.8} value={used} />
            </li>
          ))}
      </ul>
    </div>
  )
}

const amount = (value: number, unit: string): string => (unit === 'bytes' ? bytes(value) : count(value))

function Events() {
  const input = { query: { order: 'desc', limit: 10 } }
  const loaded = useLoaded(async () => (await call('listEvents', input)).data.data as any[], 'events')
  return (
    <div>
      <h2>
        <a href={href('/events', { order: 'desc' })}>Latest events</a>
      </h2>
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      {loaded.value === null && loaded.failure === null && <Skeleton />}
      {loaded.value?.length === 0 && (
        <p class="empty">Nothing has happened yet. Create a project to begin.</p>
      )}
      <EventList events={loaded.value ?? []} />
    </div>
  )
}
