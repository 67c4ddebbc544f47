// Does what Stripe is to do, outside of the transactions that made it necessary. A job that fails is done again, later and later, for three days; then
// it is given up and told of as an error. A process that dies leaves its jobs to another.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../../infra/database/database.ts'
import type { Job, Queue } from '../../../infra/jobs/queue.ts'
import type { GatewayJob, RemoteGateway, PaymentServices } from '../gateway.ts'
import { StripeFailure } from './client.ts'

export interface StripeWorker {
  /** Something may be to be done. */
  wake(): void
  start(): void
  /** Takes nothing more, gives what is under way a moment, and leaves the rest to others. */
  close(): Promise<void>
}

export interface StripeWorkerOptions extends PaymentServices {
  database: Database
  stripe: RemoteGateway
  jobs: Queue<GatewayJob>
  onError: (error: Error) => void
  /** Jobs that are done at once. Default 4. */
  concurrency?: number
  /** How often the queue is looked at even if nothing was said, in ms. Default 1,000. */
  interval?: number
  /** Milliseconds that jobs under way are given at a stop. Default 5,000. */
  grace?: number
}

const minute = 60_000
const hour = 60 * minute
/** How long after each failure it is tried again, in ms. */
const delays = [
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

export function createStripeWorker({
  database,
  stripe,
  jobs,
  onError,
  concurrency = 4,
  interval = 1_000,
  grace = 5_000,
  ...services
}: StripeWorkerOptions): StripeWorker {
  const underWay = new Set<Promise<void>>()
  let stopped = false
  let pause = new AbortController()
  let loop: Promise<void> = Promise.resolve()

  return {
    wake,
    start() {
      loop = run()
    },
    async close() {
      stopped = true
      wake()
      await loop
      const over = new AbortController()
      await Promise.race([
        Promise.all(underWay),
        sleep(grace, undefined, { signal: over.signal }).catch(() => {}),
      ])
      over.abort()
    },
  }

  function wake(): void {
    pause.abort()
  }

  async function run(): Promise<void> {
    while (!stopped) {
      pause = new AbortController()
      const room = concurrency - underWay.size
      const taken =
        room > 0
          ? await jobs.take(room).catch((error) => {
              onError(error)
              return []
            })
          : []
      for (const job of taken) track(job)
      if (taken.length === 0 && !stopped)
        await sleep(interval, undefined, { signal: pause.signal }).catch(() => {})
    }
  }

  function track(job: Job<GatewayJob>): void {
    const tracked: Promise<void> = attempt(job)
      .catch(onError)
      .finally(() => {
        underWay.delete(tracked)
        wake()
      })
    underWay.add(tracked)
  }

  async function attempt(job: Job<GatewayJob>): Promise<void> {
    const { data, id, retryCount } = job
    try {
      const again = await stripe.perform(database, services, data, {
        repeated: retryCount > 0 || data.tries > 0,
        attempt: `${id}:${retryCount}`,
      })
      // What is looked at again has been begun.
      await conclude(
        job,
        again === null ? null : { data: { ...data, tries: Math.max(1, data.tries) }, at: again },
      )
    } catch (error) {
      const failure = error instanceof StripeFailure ? error : null
      const delay = failure?.retryable === false ? undefined : delays[data.tries]
      const wait = delay === undefined ? null : Math.max(delay, failure?.retryAfter ?? 0)
      onError(
        new Error(
          `the ${data.task} of ${data.id} has failed ${data.tries + 1} times and ${wait === null ? 'is given up' : `is tried again in ${wait / 1000} s`}`,
          { cause: error },
        ),
      )
      await conclude(
        job,
        wait === null
          ? 'given up'
          : { data: { ...data, tries: data.tries + 1 }, at: new Date(Date.now() + wait) },
      )
    }
  }

  async function conclude(
    job: Job<GatewayJob>,
    next: { data: GatewayJob; at: Date } | 'given up' | null,
  ): Promise<void> {
    await database.transaction(async (tx) => {
      const mine = await jobs.settle(tx, [job])
      // One that took too long is somebody else's by now.
      if (next === null || !mine.has(job.id)) return
      if (next === 'given up') await stripe.giveUp(tx, services, job.data)
      else await jobs.add(tx, [{ data: next.data, group: job.data.id, startAfter: next.at }])
    })
  }
}
