// The first page: what to do first, what was used, what is used of the limits, and the latest events.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { href } from '../router.ts'
import { lazy } from '../lazy.tsx'
import { detailAt } from '../model.ts'
import { call, isAllowed } from '../session.ts'
import { Problem, Skeleton, useLoaded, useOnReady, type Loaded } from '../ui.tsx'
import { bytes, count, EventList } from '../value.tsx'
import { Usage } from './usage.tsx'

/** The limits of which most is used. */
const shownLimits = 6

const FirstSteps = lazy(
  async () => (await import('../engine.ts')).FirstSteps,
  () => null,
)

export function Overview() {
  /** The steps taken since: after each, the rest is loaded again. */
  const [round, setRound] = useState(0)
  const limits = useLoaded(
    async () => (isAllowed('getLimits') ? ((await call('getLimits')).data.limits as Limit[]) : []),
    `limits ${round}`,
  )
  return (
    <section>
      <header>
        <h1>Home</h1>
      </header>
      <InOrder>
        {[
          (onReady) => <Health {...{ onReady }} />,
          (onReady) =>
            limits.value === null ? (
              limits.failure !== null && <Ready {...{ onReady }} />
            ) : (
              <FirstSteps
                used={usedOf(limits.value)}
                onDone={() => setRound((n) => n + 1)}
                {...{ onReady }}
              />
            ),
          (onReady) =>
            isAllowed('getUsage') ? <Usage {...{ round, onReady }} /> : <Ready {...{ onReady }} />,
          () => (
            <div class="columns">
              {isAllowed('getLimits') && <Limits limits={limits} />}
              {isAllowed('listEvents') && <Events round={round} />}
            </div>
          ),
        ]}
      </InOrder>
    </section>
  )
}

const longestWaitMs = 5_000

/** Shows each part once those above it are there, so that nothing moves, or have taken too long. */
function InOrder({ children }: { children: Array<(onReady: () => void) => ComponentChildren> }) {
  const [ready, setReady] = useState<ReadonlySet<number>>(new Set())
  const [isLate, setIsLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsLate(true), longestWaitMs)
    return () => clearTimeout(timer)
  }, [])
  const loading = children.findIndex((_, i) => !ready.has(i))
  return (
    <>
      {children.map((part, i) => (
        <div key={i} class={i > loading && !isLate ? 'unready' : undefined}>
          {part(() => setReady((before) => new Set([...before, i])))}
        </div>
      ))}
    </>
  )
}

function Ready({ onReady }: { onReady: () => void }) {
  useOnReady(true, onReady)
  return null
}

/** What does not work: parts of the server, and endpoints that the platform has disabled. */
function Health({ onReady }: { onReady: () => void }) {
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
  useOnReady(!loaded.loading, onReady)
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

const usedOf =
  (limits: Limit[]) =>
  (name: string): number =>
    limits.find((each) => each.name === name)?.used ?? 0

interface Limit {
  name: string
  unit: string
  limit: number | null
  used: number
}

function Limits({ limits: loaded }: { limits: Loaded<Limit[]> }) {
  const page = detailAt('/user/limits')
  return (
    <div>
      <h2>{page === null ? 'Limits' : <a href={href('/user/limits')}>Limits</a>}</h2>
      {loaded.failure !== null && <Problem failure={loaded.failure} retry={loaded.reload} />}
      {loaded.value === null && loaded.failure === null && <Skeleton />}
      <ul class="limits">
        {loaded.value
          ?.filter(({ limit, used }) => limit !== null && used > 0)
          .sort((a, b) => b.used / b.limit! - a.used / a.limit!)
          .slice(0, shownLimits)
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

function Events({ round }: { round: number }) {
  const input = { query: { order: 'desc', limit: 10 } }
  const loaded = useLoaded(
    async () => (await call('listEvents', input)).data.data as any[],
    `events ${round}`,
  )
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
