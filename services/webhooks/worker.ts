// The webhook worker: fetches delivery jobs from the queue and posts each event to its endpoint, if the
// endpoint's owner may still read the event. Failing endpoints, recovered deliveries and the deliveries of
// owners with many slow ones have lanes of their own, so that they do not delay others. If a process dies,
// another one sends its deliveries again.
import * as sql from '../../generated/sql/webhooks.ts'
import type { Database } from '../../infra/database/database.ts'
import type { DeliveryJob, Emitter } from '../events/emit.ts'
import type { PlatformEvent } from '../events/log.ts'
import type { MailServices } from '../mail/mails.ts'
import { unlimitedKeyTypes } from '../events/log.ts'
import type { JobOutcome } from '../../infra/jobs/job-runs.ts'
import type { Job, Queue, QueueOptions } from '../../infra/jobs/queue.ts'
import type { BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import type { WebhookClient } from './http-client.ts'
import { WorkerPool, type RunningJob, type WorkerPoolOptions } from './worker-pool.ts'
import { createAttemptRecorder, type AttemptRecorder } from './record-attempts.ts'
import { createSecretReader, type SecretReader } from './secrets.ts'
import { sendDelivery, type DueDelivery } from './send-delivery.ts'
import { createSlowEndpoints, type SlowEndpoints } from './slow-endpoints.ts'

export const deliveryQueue: QueueOptions = {
  name: 'webhook-deliveries',
  // An attempt takes at most 15 s, plus the time to load and record it.
  expireInSeconds: 30,
  groupConcurrency: 10,
  // Recovered deliveries may be very many; new ones must not wait behind them. In the slow lane each endpoint
  // has one slot, so that the slow endpoints of an owner do not delay each other.
  lanes: { failing: 1, recovered: 10, slow: 1 },
}

export interface WebhookWorkerOptions extends MailServices {
  database: Database
  deliveries: Queue<DeliveryJob>
  webhookClient: WebhookClient
  events: Emitter
  /**
   * Deliveries that are sent at once in each lane. In addition each lane may have four times as many
   * deliveries to slow endpoints.
   */
  concurrency: number
  onError?: (error: Error) => void
  /** Milliseconds between two polls of the queue. Default 1,000. */
  interval?: number
  /** Milliseconds that running deliveries have to finish after a stop. Default 5,000. */
  drainTimeoutMs?: number
}

/** Milliseconds after which a delivery is slow. */
const slowAfterMs = 1_000

type Run = WorkerPoolOptions<Job<DeliveryJob>>['run']

/** The lane to which a delivery must move; undefined to send the delivery here. */
type LaneOf = (due: DueDelivery) => string | undefined

/** A fetched job that is not run here: it goes to `lane`, or is removed without a delivery. */
interface MovedJob {
  job: Job<DeliveryJob>
  delivery?: DueDelivery
  lane?: string
}

export class WebhookWorker implements BackgroundWorker {
  readonly #options: Required<WebhookWorkerOptions>
  readonly #recorder: AttemptRecorder
  readonly #readSecret: SecretReader
  readonly #slowEndpoints: SlowEndpoints
  readonly #regular: WorkerPool<Job<DeliveryJob>>
  readonly #recovered: WorkerPool<Job<DeliveryJob>>
  readonly #slow: WorkerPool<Job<DeliveryJob>>
  readonly #failing: WorkerPool<Job<DeliveryJob>>

  constructor({
    onError = () => {},
    interval = 1_000,
    drainTimeoutMs = 5_000,
    ...options
  }: WebhookWorkerOptions) {
    const { database, deliveries, events, cipher, mails } = options
    this.#options = { ...options, onError, interval, drainTimeoutMs }
    this.#recorder = createAttemptRecorder({ database, deliveries, events, cipher, mails, onError })
    this.#readSecret = createSecretReader(options.cipher)
    this.#slowEndpoints = createSlowEndpoints(() => this.wake())
    const runFair: Run = (jobs, hasShare, signal) => this.#startFair(jobs, hasShare, signal)
    this.#regular = this.#createPool(undefined, runFair)
    this.#recovered = this.#createPool('recovered', runFair)
    this.#slow = this.#createPool('slow', (jobs, _hasShare, signal) =>
      this.#startJobs(jobs, failingLane, signal),
    )
    this.#failing = this.#createPool('failing', (jobs, _hasShare, signal) =>
      this.#startJobs(jobs, () => undefined, signal),
    )
  }

  // A property, so that it can be passed on as a callback.
  wake = (): void => {
    this.#regular.wake()
    this.#recovered.wake()
  }

  start(): void {
    for (const pool of this.#pools) pool.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#pools.map((pool) => pool.stop()))
  }

  get #pools(): Array<WorkerPool<Job<DeliveryJob>>> {
    return [this.#regular, this.#recovered, this.#slow, this.#failing]
  }

  #createPool(lane: string | undefined, run: Run): WorkerPool<Job<DeliveryJob>> {
    const { deliveries, concurrency, interval, drainTimeoutMs, onError } = this.#options
    return new WorkerPool({
      slowEndpoints: this.#slowEndpoints,
      slots: concurrency,
      slowSlots: 4 * concurrency,
      slowAfterMs,
      interval,
      drainTimeoutMs,
      onError,
      fetch: (count, except) => deliveries.fetch(count, { lane, except }),
      run,
    })
  }

  /**
   * Starts jobs, except deliveries to failing endpoints and those of owners with their full share of slow
   * jobs.
   */
  async #startFair(
    jobs: Array<Job<DeliveryJob>>,
    hasShare: (owner: string) => boolean,
    signal: AbortSignal,
  ): Promise<RunningJob[]> {
    const laneOf: LaneOf = (due) => failingLane(due) ?? (hasShare(due.owner) ? 'slow' : undefined)
    return await this.#startJobs(jobs, laneOf, signal)
  }

  /**
   * Starts deliveries and moves those that belong in another lane. If loading them fails, the jobs stay
   * fetched until they expire.
   */
  async #startJobs(
    jobs: Array<Job<DeliveryJob>>,
    laneOf: LaneOf,
    signal: AbortSignal,
  ): Promise<RunningJob[]> {
    const dueDeliveries = await this.#loadDue(jobs)
    const started: RunningJob[] = []
    const moved: MovedJob[] = []
    for (const job of jobs) {
      const delivery = dueDeliveries.get(job.data.delivery_id)
      const lane = delivery?.enabled ? laneOf(delivery) : undefined
      if (delivery !== undefined && lane === undefined)
        started.push({
          done: this.#options.deliveries.run(job, () => this.#attempt(job, delivery, signal)),
          source: { owner: delivery.owner, group: delivery.endpoint_id },
        })
      else moved.push({ job, delivery, lane })
      if (delivery !== undefined && lane === 'slow')
        this.#slowEndpoints.suspect(delivery.owner, delivery.endpoint_id)
    }
    if (moved.length > 0) started.push({ done: this.#moveJobs(moved), source: null })
    return started
  }

  /** Moves jobs to their lanes without an attempt. Jobs whose delivery is no longer pending are removed. */
  async #moveJobs(jobs: MovedJob[]): Promise<void> {
    const { database, deliveries } = this.#options
    await database.transaction(async (tx) => {
      const completed = await deliveries.complete(
        tx,
        jobs.map(({ job }) => job),
      )
      const moving = jobs.flatMap(({ job, delivery, lane }) =>
        delivery === undefined || !completed.has(job.id)
          ? []
          : [{ data: job.data, group: delivery.endpoint_id, lane }],
      )
      if (moving.length > 0) await deliveries.add(tx, moving)
    })
    this.#slow.wake()
    this.#failing.wake()
  }

  /** The pending deliveries of the jobs, by id. */
  async #loadDue(jobs: Array<Job<DeliveryJob>>): Promise<Map<string, DueDelivery>> {
    const { database } = this.#options
    const rows = await sql.readDueDeliveries(database, {
      ids: jobs.map((job) => job.data.delivery_id),
      unlimited_key_types: unlimitedKeyTypes,
    })
    return new Map(rows.map((row) => [row.delivery_id, toDueDelivery(row)]))
  }

  /** Makes one attempt, unless the endpoint may no longer get the event, and records the outcome. */
  async #attempt(job: Job<DeliveryJob>, due: DueDelivery, signal: AbortSignal): Promise<JobOutcome> {
    const { webhookClient, onError } = this.#options
    const result = await sendDelivery(due, { webhookClient, readSecret: this.#readSecret, onError, signal })
    await this.#recorder.record({
      job,
      deliveryId: due.id,
      endpointId: due.endpoint_id,
      lane: failingLane(due),
      ...result,
    })
    if (result.attempt !== null && result.status !== 'succeeded') return 'failed'
  }
}

function failingLane({ failing }: DueDelivery): string | undefined {
  return failing ? 'failing' : undefined
}

function toDueDelivery({
  delivery_id: id,
  tries,
  endpoint_id,
  owner,
  url,
  secrets,
  enabled,
  failing,
  allowed,
  ...event
}: sql.ReadDueDeliveriesRow): DueDelivery {
  return {
    id,
    tries,
    endpoint_id,
    owner,
    url,
    secrets,
    enabled,
    failing,
    allowed,
    // The type of a row fits its data.
    event: event as PlatformEvent,
  }
}
