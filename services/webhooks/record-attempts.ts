// Records the outcome of delivery attempts. deliveries.ts describes the whole way of a delivery; this is its
// last step.
//
// One statement for all successes, and one transaction for all others, takes the jobs from the queue and
// - appends the attempt to the delivery (the last 20 attempts are kept) and sets its status,
// - if the delivery stays pending, queues a new job that is due at `next_attempt_at`,
// - notes whether the endpoint fails: `failing_since` is set by the first failed attempt at its present URL,
//   and cleared by a successful one and by a new URL,
// - disables the endpoint when its present URL answered 410 Gone, or when `failing_since` is five days ago,
//   emits `webhook_endpoint.disabled`, and mails its owner.
import { setTimeout as sleep } from 'node:timers/promises'
import * as sql from '../../generated/sql/webhooks.ts'
import { type Database, type Transaction } from '../../infra/database/database.ts'
import { ApiError } from '../../infra/errors.ts'
import type { DeliveryJob, Emitter } from '../events/emit.ts'
import { alertUser, onceADay, type MailServices } from '../mail/mails.ts'
import type { Job, Queue } from '../../infra/jobs/queue.ts'
import type { Attempt, DeliveryStatus } from './deliveries.ts'

export interface AttemptOutcome {
  job: Job<DeliveryJob>
  deliveryId: string
  endpointId: string
  /** The new status of the delivery. */
  status: DeliveryStatus
  /** null when a shutdown interrupted the attempt: it does not count. */
  attempt: Attempt | null
  /** null when no request was sent. */
  request: { url: string; headers: Record<string, string> } | null
  /** When it is tried again, while it is pending, and as which lane of the queue. */
  next: Date | null
  /** The lane of the queue for the next attempt. */
  lane: string | undefined
  /** Whether the endpoint answered 410 Gone. */
  gone: boolean
}

export interface AttemptRecorder {
  /**
   * Resolves when the outcome is recorded, or cannot be recorded. In the second case the job expires and the
   * delivery is sent again.
   */
  record(outcome: AttemptOutcome): Promise<void>
}

export interface AttemptRecorderOptions extends MailServices {
  database: Database
  deliveries: Queue<DeliveryJob>
  events: Emitter
  onError: (error: Error) => void
}

/** An endpoint is disabled when all attempts have failed for this time. */
const maxFailingDays = 5
/** Outcomes that are recorded in one transaction. */
const batchSize = 200
/** Milliseconds for which a batch waits for the outcomes of attempts that began with the first one. */
const collectMs = 5
/** How often a batch is tried while the database is unavailable. */
const maxTries = 8

export function createAttemptRecorder({
  database,
  deliveries,
  events,
  onError,
  ...mailServices
}: AttemptRecorderOptions): AttemptRecorder {
  let waiting: Array<{ outcome: AttemptOutcome; resolve: () => void }> = []
  let recording: Promise<void> | null = null

  return {
    record: (outcome) =>
      new Promise((resolve) => {
        waiting.push({ outcome, resolve })
        recording ??= recordAll().finally(() => {
          recording = null
        })
      }),
  }

  /** Outcomes that arrive while a batch is recorded form the next batch. */
  async function recordAll(): Promise<void> {
    while (waiting.length > 0) {
      await sleep(collectMs)
      const batch = waiting.splice(0, batchSize)
      await recordBatch(batch.map(({ outcome }) => outcome))
      for (const { resolve } of batch) resolve()
    }
  }

  // Not `retry`: every failure is reported, and a batch that cannot be recorded is split.
  async function recordBatch(outcomes: AttemptOutcome[]): Promise<void> {
    for (let tries = 1; tries <= maxTries; tries++) {
      try {
        const [succeeded, others] = partition(outcomes)
        if (succeeded.length > 0) await recordSuccesses(succeeded)
        if (others.length > 0) await database.transaction((tx) => recordOthers(tx, others))
        return
      } catch (error) {
        onError(error as Error)
        if (!isUnavailable(error)) {
          // Record them one by one, so that one outcome that cannot be recorded does not fail the others.
          if (outcomes.length > 1) for (const outcome of outcomes) await recordBatch([outcome])
          return
        }
        await sleep(200 * tries)
      }
    }
  }

  async function recordSuccesses(outcomes: AttemptOutcome[]): Promise<void> {
    await sql.recordSuccesses(database, {
      job_ids: outcomes.map(({ job }) => job.id),
      fetches: outcomes.map(({ job }) => job.fetches),
      ids: outcomes.map(({ deliveryId }) => deliveryId),
      endpoint_ids: outcomes.map(({ endpointId }) => endpointId),
      attempts: outcomes.map(({ attempt }) => JSON.stringify(attempt)),
      requests: outcomes.map(({ request }) => JSON.stringify(request)),
    })
  }

  async function recordOthers(tx: Transaction, outcomes: AttemptOutcome[]): Promise<void> {
    const ownJobs = await deliveries.complete(
      tx,
      outcomes.map(({ job }) => job),
    )
    // A job that expired during the attempt belongs to another worker, which records its own outcome.
    const own = outcomes.filter(({ job }) => ownJobs.has(job.id))
    if (own.length === 0) return
    await sql.updateDeliveries(tx, {
      ids: own.map(({ deliveryId }) => deliveryId),
      statuses: own.map(({ status }) => status),
      attempts: own.map(({ attempt }) => attempt && JSON.stringify(attempt)),
      requests: own.map(({ request }) => request && JSON.stringify(request)),
      nexts: own.map(({ next }) => next),
    })
    const pending = own.filter(({ status }) => status === 'pending')
    if (pending.length > 0) {
      await deliveries.add(
        tx,
        pending.map(({ job, endpointId, lane, next }) => ({
          data: job.data,
          group: endpointId,
          lane,
          startAfter: next!,
        })),
      )
    }
    await updateEndpoints(tx, own)
  }

  async function updateEndpoints(tx: Transaction, outcomes: AttemptOutcome[]): Promise<void> {
    const attempted = outcomes.filter(({ attempt, request }) => attempt !== null && request !== null)
    if (attempted.length === 0) return
    const locked = await sql.lockEndpoints(tx, { ids: endpointIds(attempted) })
    const urls = new Map(locked.map(({ id, url }) => [id, url]))
    // The answer of an old URL says nothing of the new one.
    const failures = attempted.filter(({ endpointId, request }) => urls.get(endpointId) === request!.url)
    const failing = endpointIds(failures)
    if (failing.length === 0) return
    await sql.setFailing(tx, { ids: failing })
    const gone = endpointIds(failures.filter((failure) => failure.gone))
    const disabled = await sql.disableEndpoints(tx, {
      gone_ids: gone,
      failing_ids: failing,
      max_failing_days: maxFailingDays,
    })
    for (const { user_id: userId, ...endpoint } of disabled) {
      await events.emit(tx, 'webhook_endpoint.disabled', endpoint, {
        userId,
        previous: { ...endpoint, enabled: true, disabled_reason: null },
      })
      // Not the URL: an attacker may have chosen its host, and its path may have secrets.
      const kind = 'webhook_endpoint_disabled'
      await alertUser(tx, mailServices, kind, userId, { detail: endpoint.id, ...onceADay(kind, endpoint.id) })
    }
  }
}

/** The outcomes of successful attempts, and the others. */
function partition(outcomes: AttemptOutcome[]): [AttemptOutcome[], AttemptOutcome[]] {
  const { true: succeeded = [], false: others = [] } = Object.groupBy(
    outcomes,
    ({ status }) => `${status === 'succeeded'}` as const,
  )
  return [succeeded, others]
}

/** Whether the database was unavailable, so that another try can succeed. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.status === 503
}

function endpointIds(outcomes: AttemptOutcome[]): string[] {
  return [...new Set(outcomes.map(({ endpointId }) => endpointId))]
}
