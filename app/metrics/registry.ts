// The metrics of a server or worker in the Prometheus format.
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { memoize } from '../../infra/concurrency/memoize.ts'
import { readNumberingDelay } from '../../services/events/log.ts'
import type { Services } from '../../services/services.ts'
import { version } from '../../infra/version.ts'

/** Milliseconds for which scrapes share what is read from the database. */
const readInterval = 5_000

export function createRegistry(services: Services): Registry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  new Gauge({
    name: 'platform_build_info',
    help: 'The version of the server.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1)
  addPool(registry, services)
  addDependencies(registry, services)
  addQueues(registry, services)
  addJobs(registry, services)
  addEventLog(registry, services)
  addStreams(registry, services)
  addRecorder(registry, services)
  return registry
}

function addPool(registry: Registry, { database: { pool } }: Services): void {
  new Gauge({
    name: 'database_connections',
    help: 'Connections of the pool by state, and the requests that wait for one.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'used' }, pool.totalCount - pool.idleCount)
      this.set({ state: 'idle' }, pool.idleCount)
      this.set({ state: 'waiting' }, pool.waitingCount)
    },
  })
}

function addDependencies(registry: Registry, { readiness }: Services): void {
  new Gauge({
    name: 'dependency_up',
    help: '1 if the readiness check passes, else 0.',
    labelNames: ['name'],
    registers: [registry],
    async collect() {
      const { checks } = await readiness.report()
      for (const [name, state] of Object.entries(checks)) this.set({ name }, state === 'ok' ? 1 : 0)
    },
  })
  new Gauge({
    name: 'process_ready',
    help: '1 if /readyz answers 200, else 0.',
    registers: [registry],
    async collect() {
      const { status } = await readiness.report()
      this.set(status === 'unavailable' ? 0 : 1)
    },
  })
}

function addQueues(registry: Registry, { jobs }: Services): void {
  const read = memoize(readInterval, () => jobs.readBacklog())
  new Gauge({
    name: 'job_queue_waiting',
    help: 'Jobs that are due and not fetched, counted to 10,000 in each queue.',
    labelNames: ['queue'],
    registers: [registry],
    async collect() {
      for (const { queue, waiting } of await read().catch(() => [])) this.set({ queue }, waiting)
    },
  })
  new Gauge({
    name: 'job_queue_oldest_seconds',
    help: 'How long the oldest of these jobs has been due.',
    labelNames: ['queue'],
    registers: [registry],
    async collect() {
      for (const { queue, oldestSeconds } of await read().catch(() => [])) this.set({ queue }, oldestSeconds)
    },
  })
}

function addJobs(registry: Registry, { jobs }: Services): void {
  const seconds = new Histogram({
    name: 'job_run_duration_seconds',
    help: 'Duration of the jobs that this process has run, by queue and outcome.',
    labelNames: ['queue', 'outcome'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300],
    registers: [registry],
  })
  jobs.onRun((run) => seconds.observe({ queue: run.queue, outcome: run.outcome }, run.seconds))
}

function addEventLog(registry: Registry, { database, eventStreams }: Services): void {
  const readDelay = memoize(readInterval, () => readNumberingDelay(database))
  new Gauge({
    name: 'event_log_numbering_delay_seconds',
    help: 'How long the oldest committed event has been without its number in the event log.',
    registers: [registry],
    async collect() {
      const delay = await readDelay().catch(() => null)
      if (delay === null) this.remove()
      else this.set(delay)
    },
  })
  new Gauge({
    name: 'event_log_position',
    help: 'The number in the event log up to which this process has read. The highest is the end of the log.',
    registers: [registry],
    collect() {
      if (eventStreams.position !== null) this.set(eventStreams.position)
    },
  })
}

function addStreams(registry: Registry, { eventStreams, generations }: Services): void {
  new Gauge({
    name: 'event_streams_open',
    help: 'Open event streams.',
    registers: [registry],
    collect() {
      this.set(eventStreams.count)
    },
  })
  new Gauge({
    name: 'ai_answers_open',
    help: 'AI answers that this process generates.',
    registers: [registry],
    collect() {
      this.set(generations.size)
    },
  })
}

function addRecorder(registry: Registry, { requestRecorder }: Services): void {
  new Counter({
    name: 'requests_unrecorded_total',
    help: 'Requests that GET /requests and GET /usage lack: they did not fit, or were refused.',
    registers: [registry],
    collect() {
      this.reset()
      this.inc(requestRecorder.dropped)
    },
  })
}

/** The metrics of a server that a worker does not have. */
export function addHttp(registry: Registry) {
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Response time by operation and status.',
    labelNames: ['operation', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  const stalls = new Histogram({
    name: 'main_thread_stall_seconds',
    help: 'Stalls of the main thread over 100 ms, by the operation that ran.',
    labelNames: ['operation'],
    buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  const refusals = new Counter({
    name: 'limit_refusals_total',
    help: 'Requests that were refused because of a limit: a rate limit, a quota, too many at once.',
    labelNames: ['limit'],
    registers: [registry],
  })
  return { seconds, stalls, refusals }
}
