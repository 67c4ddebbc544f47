// The gateway worker: runs the jobs that call remote gateways, outside the transactions that created them. A
// failed job is retried with growing delays for three days. After that, a job that moves money is retried
// daily; another one is abandoned and reported as an error.
import type { Database } from '../../infra/database/database.ts'
import type { JobOutcome } from '../../infra/jobs/job-runs.ts'
import type { Job, Queue, QueueOptions } from '../../infra/jobs/queue.ts'
import { GatewayFailure, type GatewayJob, type RemoteGateway, type PaymentServices } from './gateway.ts'
import { WorkerLoop, type BackgroundWorker } from '../../infra/jobs/worker-loop.ts'

export const gatewayQueue: QueueOptions = {
  name: 'gateway',
  // A job makes a few calls of at most half a minute each. Running it twice has no further effect.
  expireInSeconds: 120,
  groupConcurrency: 1,
}

export interface GatewayWorkerOptions extends PaymentServices {
  database: Database
  jobs: Queue<GatewayJob>
  onError: (error: Error) => void
  /** Jobs that run at once. Default 4. */
  concurrency?: number
  /** Milliseconds between two polls of the queue. Default 1,000. */
  interval?: number
  /** Milliseconds that running jobs have to finish after a stop. Default 5,000. */
  drainTimeoutMs?: number
}

const minute = 60_000
const hour = 60 * minute
/** Milliseconds before each retry. */
const retryDelays = [
  10_000,
  minute,
  5 * minute,
  30 * minute,
  2 * hour,
  5 * hour,
  10 * hour,
  14 * hour,
  20 * hour,
  24 * hour,
]

/** Tasks whose last attempt may have moved money: only the gateway knows their outcome. */
const endlessTasks: ReadonlySet<GatewayJob['task']> = new Set(['charge', 'refund', 'refund_late_payment'])

/** What follows an attempt: another job at a later time, the end of the retries, or nothing. */
type Next = { data: GatewayJob; at: Date } | 'abandon' | null

export function createGatewayWorker({
  database,
  jobs,
  onError,
  concurrency = 4,
  interval,
  drainTimeoutMs,
  ...services
}: GatewayWorkerOptions): BackgroundWorker {
  const loop = new WorkerLoop({ poll, onError, interval, drainTimeoutMs })
  // A call of a gateway is not canceled by a stop. Its job is left to another process instead.
  const aborted = new Promise<void>((resolve) => loop.signal.addEventListener('abort', () => resolve()))
  return loop

  function gatewayOf({ gateway = 'stripe' }: GatewayJob): RemoteGateway {
    const found = services.gateways.remote(gateway)
    if (found === null) throw new Error(`The payment gateway ${gateway} is not configured.`)
    return found
  }

  async function poll(): Promise<boolean> {
    const free = concurrency - loop.running
    const fetched = free > 0 ? await jobs.fetch(free) : []
    for (const job of fetched) loop.track(Promise.race([jobs.run(job, () => run(job)), aborted]))
    return fetched.length > 0
  }

  async function run(job: Job<GatewayJob>): Promise<JobOutcome> {
    const { data, id, fetches } = job
    try {
      const pollAgainAt = await gatewayOf(data).perform(database, services, data, {
        repeated: fetches > 1 || data.tries > 0,
        attempt: `${id}:${fetches}`,
      })
      // A job that polls has had its first attempt.
      const next = pollAgainAt && { data: { ...data, tries: Math.max(1, data.tries) }, at: pollAgainAt }
      await complete(job, next)
    } catch (error) {
      const delay = retryDelay(data, error)
      const consequence = delay === null ? 'is abandoned' : `is retried in ${delay / 1000} s`
      const message = `the task ${data.task} of ${data.id} failed ${data.tries + 1} times and ${consequence}`
      onError(new Error(message, { cause: error }))
      const retry = { ...data, tries: data.tries + 1 }
      await complete(job, delay === null ? 'abandon' : { data: retry, at: new Date(Date.now() + delay) })
      return 'failed'
    }
  }

  async function complete(job: Job<GatewayJob>, next: Next): Promise<void> {
    await database.transaction(async (tx) => {
      const completed = await jobs.complete(tx, [job])
      // A job that timed out belongs to another worker.
      if (next === null || !completed.has(job.id)) return
      if (next === 'abandon') await gatewayOf(job.data).giveUp(tx, services, job.data)
      else await jobs.add(tx, [{ data: next.data, group: job.data.id, startAfter: next.at }])
    })
  }
}

/** Milliseconds before the next attempt; null when there is none. */
function retryDelay({ task, tries }: GatewayJob, error: unknown): number | null {
  const failure = error instanceof GatewayFailure ? error : null
  const soon = failure?.retryable === false ? undefined : retryDelays[tries]
  const delay = soon ?? (endlessTasks.has(task) ? 24 * hour : undefined)
  return delay === undefined ? null : Math.max(delay, failure?.retryAfter ?? 0)
}
