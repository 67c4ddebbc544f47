// The webhook worker: fetches delivery jobs from the queue and posts each event to its endpoint, if the
// endpoint's owner may still read the event. Failing endpoints, recovered deliveries and the deliveries of
// owners with many slow ones have lanes of their own, so that they do not delay others. If a process dies,
// another one sends its deliveries again.
import serializers from '../../generated/serializers.js'
import { operations } from '../../generated/operations.ts'
import type { Database } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import type { DeliveryJob, Emitter } from '../events/emit.ts'
import { eventColumns, numberEvents, tenantEventSql, type Event } from '../events/log.ts'
import type { Job, Queue, QueueOptions } from '../../infra/jobs/queue.ts'
import { type Attempt, retryDelayMs } from './deliveries.ts'
import type { BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import { isFailingSql } from '../events/failing-endpoints.ts'
import { WebhookRequestError, type WebhookClient } from './http-client.ts'
import { WorkerPool, type RunningJob } from './worker-pool.ts'
import { createAttemptRecorder, type AttemptOutcome } from './record-attempts.ts'
import { signedHeaders } from './signature.ts'
import { createSlowEndpoints } from './slow-endpoints.ts'

export const deliveryQueue: QueueOptions = {
  name: 'webhook-deliveries',
  // An attempt takes at most 15 s, plus the time to load and record it.
  expireInSeconds: 30,
  groupConcurrency: 10,
  // Recovered deliveries may be very many; new ones must not wait behind them. In the slow lane each endpoint
  // has one slot, so that the slow endpoints of an owner do not delay each other.
  lanes: { failing: 1, recovered: 10, slow: 1 },
}

export interface WebhookWorkerOptions {
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

/** A due delivery with everything that is needed to send it. */
interface Due {
  id: string
  tries: number
  endpoint_id: string
  owner: string
  url: string
  secrets: string[]
  enabled: boolean
  failing: boolean
  /** Whether the endpoint's owner may still read the event. */
  allowed: boolean
  event: Event
}

/** A fetched job that is not run here: it goes to `lane`, or is removed without a delivery. */
interface MovedJob {
  job: Job<DeliveryJob>
  delivery?: Due
  lane?: string
}

type Loaded = Omit<Due, 'id' | 'event'> & Due['event'] & { delivery_id: string }

const load = statement<Loaded>(`
  SELECT d.id AS delivery_id, d.tries, d.endpoint_id, w.user_id AS owner, w.url,
    w.enabled AND w.deleted_at IS NULL AS enabled,
    ${isFailingSql} AS failing,
    CASE WHEN w.previous_expires_at > now() THEN ARRAY[w.secret, w.previous_secret] ELSE ARRAY[w.secret] END
      AS secrets,
    u.status = 'active' AND e.scope = ANY(w.scopes) AND coalesce(CASE
      WHEN e.project_id IS NOT NULL THEN m.role <= e.role AND (w.all_projects OR e.project_id = ANY(w.project_ids))
      WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id AND (w.all_projects OR NOT ${tenantEventSql('e.type')})
      ELSE u.role = 'admin' END, false) AS allowed,
    ${eventColumns}
  FROM webhook_deliveries d
  JOIN webhook_endpoints w ON w.id = d.endpoint_id
  JOIN users u ON u.id = w.user_id
  JOIN events e ON e.id = d.event_id
  LEFT JOIN members m ON m.project_id = e.project_id AND m.user_id = w.user_id
  WHERE d.id = ANY($1) AND d.status = 'pending'`)

const write = serializers[operations.getEvent.replies[200].serializer!]

export function createWebhookWorker(options: WebhookWorkerOptions): BackgroundWorker {
  const {
    database,
    deliveries,
    webhookClient,
    events,
    concurrency,
    onError = () => {},
    interval = 1_000,
    drainTimeoutMs = 5_000,
  } = options
  const recorder = createAttemptRecorder({ database, deliveries, events, onError })
  const slowEndpoints = createSlowEndpoints(wake)
  const poolOptions = {
    slowEndpoints,
    slots: concurrency,
    slowSlots: 4 * concurrency,
    slowAfterMs,
    interval,
    drainTimeoutMs,
    onError,
  }
  const regular = new WorkerPool({
    ...poolOptions,
    fetch: (count, except) => deliveries.fetch(count, { except }),
    run: startFair,
  })
  const recovered = new WorkerPool({
    ...poolOptions,
    fetch: (count, except) => deliveries.fetch(count, { lane: 'recovered', except }),
    run: startFair,
  })
  const slow = new WorkerPool({
    ...poolOptions,
    fetch: (count, except) => deliveries.fetch(count, { lane: 'slow', except }),
    run: (jobs, _hasShare, signal) => startJobs(jobs, failingLane, signal),
  })
  const failing = new WorkerPool({
    ...poolOptions,
    fetch: (count, except) => deliveries.fetch(count, { lane: 'failing', except }),
    run: (jobs, _hasShare, signal) => startJobs(jobs, () => undefined, signal),
  })
  const lanes = [regular, recovered, slow, failing]

  return {
    wake,
    start() {
      for (const lane of lanes) lane.start()
    },
    async stop() {
      await Promise.all(lanes.map((lane) => lane.stop()))
    },
  }

  function wake(): void {
    regular.wake()
    recovered.wake()
  }

  /**
   * Starts jobs, except deliveries to failing endpoints and those of owners with their full share of slow
   * jobs.
   */
  async function startFair(
    jobs: Array<Job<DeliveryJob>>,
    hasShare: (owner: string) => boolean,
    signal: AbortSignal,
  ): Promise<RunningJob[]> {
    const otherLane = (due: Due): string | undefined =>
      failingLane(due) ?? (hasShare(due.owner) ? 'slow' : undefined)
    return await startJobs(jobs, otherLane, signal)
  }

  /**
   * Starts deliveries and moves those that belong in another lane. If loading them fails, the jobs stay
   * fetched until they expire.
   */
  async function startJobs(
    jobs: Array<Job<DeliveryJob>>,
    otherLane: (due: Due) => string | undefined,
    signal: AbortSignal,
  ): Promise<RunningJob[]> {
    const dueDeliveries = await loadDue(jobs)
    const started: RunningJob[] = []
    const moved: MovedJob[] = []
    for (const job of jobs) {
      const delivery = dueDeliveries.get(job.data.delivery_id)
      const lane = delivery?.enabled ? otherLane(delivery) : undefined
      if (delivery !== undefined && lane === undefined)
        started.push({
          done: attempt(job, delivery, signal),
          source: { owner: delivery.owner, group: delivery.endpoint_id },
        })
      else moved.push({ job, delivery, lane })
      if (delivery !== undefined && lane === 'slow')
        slowEndpoints.suspect(delivery.owner, delivery.endpoint_id)
    }
    if (moved.length > 0) started.push({ done: moveJobs(moved), source: null })
    return started
  }

  /** Moves jobs to their lanes without an attempt. Jobs whose delivery is no longer pending are removed. */
  async function moveJobs(jobs: MovedJob[]): Promise<void> {
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
    slow.wake()
    failing.wake()
  }

  async function loadDue(jobs: Array<Job<DeliveryJob>>): Promise<Map<string, Due>> {
    const ids = [jobs.map((job) => job.data.delivery_id)]
    let rows = await database.sql(load, ids)
    if (rows.some((row) => row.sequence === null)) {
      await numberEvents(database)
      rows = await database.sql(load, ids)
    }
    return new Map(
      rows.map(
        ({
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
        }) => [id, { id, tries, endpoint_id, owner, url, secrets, enabled, failing, allowed, event }],
      ),
    )
  }

  /** Makes one attempt, unless the endpoint may not get the event any more, and records the outcome. */
  async function attempt(job: Job<DeliveryJob>, due: Due, signal: AbortSignal): Promise<void> {
    const refusal = !due.enabled
      ? 'The endpoint is disabled.'
      : !due.allowed
        ? 'The owner of the endpoint may no longer read this event.'
        : null
    const result = refusal === null ? await send(due, signal) : refused(refusal)
    await recorder.record({
      job,
      deliveryId: due.id,
      endpointId: due.endpoint_id,
      lane: failingLane(due),
      ...result,
    })
  }

  async function send(due: Due, signal: AbortSignal): Promise<Result> {
    const started = Date.now()
    const body = write(due.event)
    const headers: Record<string, string> = {
      'content-type': 'application/json',
      'user-agent': 'Platform-API-Webhooks/1',
      ...signedHeaders(due.secrets, { id: due.event.id, timestamp: Math.floor(started / 1000), body }),
    }
    const request = { url: due.url, headers }
    const attempted = (status: number | null, answer: string | null, error: string | null): Attempt => ({
      started_at: new Date(started).toISOString(),
      duration_ms: Date.now() - started,
      response_status: status,
      response_body: answer,
      error,
    })
    try {
      const { status, body: answer } = await webhookClient.post(due.url, { headers, body, signal })
      if (status >= 200 && status < 300)
        return {
          status: 'succeeded',
          attempt: attempted(status, answer, null),
          request,
          next: null,
          gone: false,
        }
      return failed(
        due,
        attempted(status, answer, `The endpoint answered ${status}.`),
        request,
        status === 410,
      )
    } catch (error) {
      // A delivery that the stop of this process aborted does not count as an attempt.
      if (signal.aborted)
        return { status: 'pending', attempt: null, request: null, next: new Date(), gone: false }
      if (!(error instanceof WebhookRequestError)) onError(error as Error)
      return failed(
        due,
        attempted(
          null,
          null,
          error instanceof WebhookRequestError ? error.message : 'The request could not be made.',
        ),
        request,
        false,
      )
    }
  }
}

type Result = Pick<AttemptOutcome, 'status' | 'attempt' | 'request' | 'next' | 'gone'>

function failingLane({ failing }: Due): string | undefined {
  return failing ? 'failing' : undefined
}

function refused(error: string): Result {
  const attempt = {
    started_at: new Date().toISOString(),
    duration_ms: 0,
    response_status: null,
    response_body: null,
    error,
  }
  return { status: 'failed', attempt, request: null, next: null, gone: false }
}

function failed(due: Due, attempt: Attempt, request: Result['request'], gone: boolean): Result {
  const delay = gone ? null : retryDelayMs(due.tries + 1)
  if (delay === null) return { status: 'failed', attempt, request, next: null, gone }
  return { status: 'pending', attempt, request, next: new Date(Date.now() + delay), gone }
}
