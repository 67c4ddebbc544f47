// Sends what is due: takes delivery jobs from the queue and posts each event to its endpoint, if it may still be told.
// Endpoints at which everything fails have a lane of their own, and so has what was recovered, and what is due to owners
// of whom too much is slow already: in none of them anybody else waits. A process that dies leaves its jobs to another,
// which sends them again.
import serializers from '../../generated/serializers.js'
import { operations } from '../../generated/operations.ts'
import type { Database } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import type { DeliveryJob, Emitter } from '../events/emit.ts'
import { eventColumns, numberEvents, tenantEventSql, type Event } from '../events/log.ts'
import type { Job, Queue } from '../../infra/jobs/queue.ts'
import { type Attempt, retryDelayMs } from './deliveries.ts'
import { isFailingSql } from '../events/failing-endpoints.ts'
import { WebhookRequestError, type WebhookClient } from './http-client.ts'
import { WorkerPool, type RunningJob } from './worker-pool.ts'
import { createAttemptRecorder, type AttemptOutcome } from './record-attempts.ts'
import { signedHeaders } from './signature.ts'
import { createSlowEndpoints } from './slow-endpoints.ts'

export interface Sender {
  /** Something may be due. */
  wake(): void
  start(): void
  /** Takes nothing more, gives what is under way a moment, and the rest back to the queue. */
  close(): Promise<void>
}

export interface SenderOptions {
  database: Database
  deliveries: Queue<DeliveryJob>
  webhookClient: WebhookClient
  events: Emitter
  /**
   * Deliveries under way at once, and four times as many beside them whose endpoints are slow; the same again of what was
   * recovered, to failing endpoints, and to those of owners of whom too much is slow.
   */
  concurrency: number
  onError?: (error: Error) => void
  /** How often the queue is looked at even if nothing was said, in ms. Default 1,000. */
  interval?: number
  /** Milliseconds that deliveries under way are given at a stop. Default 5,000. */
  grace?: number
}

/** Milliseconds after which an endpoint is slow. */
const slowAfterMs = 1_000

/** A delivery that is due, with all it needs. */
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

type Loaded = Omit<Due, 'id' | 'event'> & Due['event'] & { delivery_id: string }

const load = statement<Loaded>(`
  SELECT d.id AS delivery_id, d.tries, d.endpoint_id, w.user_id AS owner, w.url, w.enabled AND w.deleted_at IS NULL AS enabled,
    ${isFailingSql} AS failing,
    CASE WHEN w.previous_expires_at > now() THEN ARRAY[w.secret, w.previous_secret] ELSE ARRAY[w.secret] END AS secrets,
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

export function createSender(options: SenderOptions): Sender {
  const {
    database,
    deliveries,
    webhookClient,
    events,
    concurrency,
    onError = () => {},
    interval = 1_000,
    grace = 5_000,
  } = options
  const recorder = createAttemptRecorder({ database, deliveries, events, onError })
  const cut = new AbortController()
  const slowEndpoints = createSlowEndpoints(wake)
  const shared = {
    slowEndpoints,
    slots: concurrency,
    slowSlots: 4 * concurrency,
    slowAfterMs,
    interval,
    onError,
  }
  const usual = new WorkerPool({
    ...shared,
    fetch: (count, except) => deliveries.take(count, { except }),
    run: beginFair,
  })
  const recovered = new WorkerPool({
    ...shared,
    fetch: (count, except) => deliveries.take(count, { tier: 'recovered', except }),
    run: beginFair,
  })
  const slow = new WorkerPool({
    ...shared,
    fetch: (count, except) => deliveries.take(count, { tier: 'slow', except }),
    run: (jobs) => begin(jobs, failingTier),
  })
  const failing = new WorkerPool({
    ...shared,
    fetch: (count, except) => deliveries.take(count, { tier: 'failing', except }),
    run: (jobs) => begin(jobs, () => undefined),
  })
  const lanes = [usual, recovered, slow, failing]

  return {
    wake,
    start() {
      for (const lane of lanes) lane.start()
    },
    async close() {
      await Promise.all(lanes.map((lane) => lane.stop()))
      const timer = setTimeout(() => cut.abort(), grace)
      await Promise.all(lanes.map((lane) => lane.idle()))
      clearTimeout(timer)
    },
  }

  function wake(): void {
    usual.wake()
    recovered.wake()
  }

  /** Leaves to their lanes what goes to failing endpoints, and what is due to owners who have their share of this one. */
  async function beginFair(
    jobs: Array<Job<DeliveryJob>>,
    hasShare: (owner: string) => boolean,
  ): Promise<RunningJob[]> {
    return await begin(jobs, (due) => failingTier(due) ?? (hasShare(due.owner) ? 'slow' : undefined))
  }

  /** What cannot be loaded stays with its job, which another taker gets when it has expired. */
  async function begin(
    jobs: Array<Job<DeliveryJob>>,
    otherTier: (due: Due) => string | undefined,
  ): Promise<RunningJob[]> {
    const due = await loaded(jobs)
    const begun: RunningJob[] = []
    const away: Array<{ job: Job<DeliveryJob>; delivery?: Due; tier?: string }> = []
    for (const job of jobs) {
      const delivery = due.get(job.data.delivery_id)
      const tier = delivery?.enabled ? otherTier(delivery) : undefined
      if (delivery !== undefined && tier === undefined)
        begun.push({
          done: attempt(job, delivery),
          source: { owner: delivery.owner, group: delivery.endpoint_id },
        })
      else away.push({ job, delivery, tier })
      if (delivery !== undefined && tier === 'slow')
        slowEndpoints.suspect(delivery.owner, delivery.endpoint_id)
    }
    if (away.length > 0) begun.push({ done: putAway(away), source: null })
    return begun
  }

  /** Jobs that are for another lane are put there, untried; what is pending no more, or gone, needs none. */
  async function putAway(
    away: Array<{ job: Job<DeliveryJob>; delivery?: Due; tier?: string }>,
  ): Promise<void> {
    await database.transaction(async (tx) => {
      const mine = await deliveries.settle(
        tx,
        away.map(({ job }) => job),
      )
      const moving = away.flatMap(({ job, delivery, tier }) =>
        delivery === undefined || !mine.has(job.id)
          ? []
          : [{ data: job.data, group: delivery.endpoint_id, tier }],
      )
      if (moving.length > 0) await deliveries.add(tx, moving)
    })
    slow.wake()
    failing.wake()
  }

  async function loaded(jobs: Array<Job<DeliveryJob>>): Promise<Map<string, Due>> {
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

  /** One attempt, from the look at what stands against it to its record. */
  async function attempt(job: Job<DeliveryJob>, due: Due): Promise<void> {
    const refusal = !due.enabled
      ? 'The endpoint is disabled.'
      : !due.allowed
        ? 'The owner of the endpoint may no longer read this event.'
        : null
    const result = refusal === null ? await send(due) : refused(refusal)
    await recorder.record({
      job,
      deliveryId: due.id,
      endpointId: due.endpoint_id,
      tier: failingTier(due),
      ...result,
    })
  }

  async function send(due: Due): Promise<Result> {
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
      const { status, body: answer } = await webhookClient.post(due.url, {
        headers,
        body,
        signal: cut.signal,
      })
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
      // A delivery that this stop has cut short was no attempt of the endpoint's.
      if (cut.signal.aborted)
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

function failingTier({ failing }: Due): string | undefined {
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
