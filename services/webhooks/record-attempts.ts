// What became of deliveries: recorded in the transaction that settles their jobs, together with what it means for their
// endpoints, which are disabled when they are gone or have failed for days.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Database, type Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { ApiError } from '../../infra/errors.ts'
import type { DeliveryJob, Emitter } from '../events/emit.ts'
import type { Job, Queue } from '../../infra/jobs/queue.ts'
import type { Attempt, DeliveryStatus } from './deliveries.ts'
import { toWebhookEndpoint } from './endpoints.ts'

export interface Outcome {
  job: Job<DeliveryJob>
  deliveryId: string
  endpointId: string
  status: DeliveryStatus
  /** Null where nothing was tried. */
  attempt: Attempt | null
  /** Null where nothing was sent. */
  request: { url: string; headers: Record<string, string> } | null
  /** When it is tried again, while it is pending, and as which lane of the queue's. */
  next: Date | null
  lane: string | undefined
  /** Whether the endpoint said that it is gone for good. */
  gone: boolean
}

export interface Outcomes {
  /** Resolves when it is written, or given up: then the job expires, and the delivery is sent again. */
  record(outcome: Outcome): Promise<void>
}

export interface OutcomesOptions {
  database: Database
  deliveries: Queue<DeliveryJob>
  events: Emitter
  onError: (error: Error) => void
}

/** An endpoint that has failed for so long is disabled. */
const failingDays = 5
/** Outcomes that are written at once. */
const most = 200

const record = statement(`
  UPDATE webhook_deliveries d SET
    status = o.status::"WebhookDeliveryStatus",
    tries = d.tries + (o.attempt IS NOT NULL)::int,
    attempts = CASE WHEN o.attempt IS NULL THEN d.attempts
      ELSE CASE WHEN jsonb_array_length(d.attempts) >= 20 THEN d.attempts - 0 ELSE d.attempts END || o.attempt END,
    request = coalesce(o.request, d.request),
    next_attempt_at = o.next
  FROM unnest($1::text[], $2::text[], $3::jsonb[], $4::jsonb[], $5::timestamptz[]) AS o (id, status, attempt, request, next) WHERE d.id = o.id`)

// All that is changed below, in one order, so that senders wait for each other instead of dying of it.
const concerned = statement<{ id: string }>(`
  SELECT id FROM webhook_endpoints WHERE id = ANY($1) OR (id = ANY($2) AND failing_since IS NOT NULL) ORDER BY id FOR NO KEY UPDATE`)
const nowWell = statement(
  'UPDATE webhook_endpoints SET failing_since = NULL WHERE id = ANY($1) AND failing_since IS NOT NULL',
)
const nowFailing = statement(
  'UPDATE webhook_endpoints SET failing_since = now() WHERE id = ANY($1) AND failing_since IS NULL',
)
const disable = statement<{ id: string }>(`
  UPDATE webhook_endpoints SET enabled = false, disabled_reason = CASE WHEN id = ANY($1) THEN 'gone' ELSE 'failing' END
  WHERE enabled AND (id = ANY($1) OR (id = ANY($2) AND failing_since < now() - interval '${failingDays} days')) RETURNING id`)

export function createOutcomes({ database, deliveries, events, onError }: OutcomesOptions): Outcomes {
  let waiting: Array<{ outcome: Outcome; written: () => void }> = []
  let writing: Promise<void> | null = null

  return {
    record: (outcome) =>
      new Promise((resolve) => {
        waiting.push({ outcome, written: resolve })
        writing ??= writeAll().finally(() => {
          writing = null
        })
      }),
  }

  /** Those that come while others are written are written together. */
  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const some = waiting.splice(0, most)
      await write(some.map(({ outcome }) => outcome))
      for (const { written } of some) written()
    }
  }

  async function write(some: Outcome[]): Promise<void> {
    for (let tries = 1; tries <= 8; tries++) {
      try {
        return await database.transaction((tx) => settle(tx, some))
      } catch (error) {
        onError(error as Error)
        if (!isUnavailable(error)) {
          // One that cannot be written must not take the others with it.
          if (some.length > 1) for (const one of some) await write([one])
          return
        }
        await sleep(200 * tries)
      }
    }
  }

  async function settle(tx: Db, all: Outcome[]): Promise<void> {
    const mine = await deliveries.complete(
      tx,
      all.map(({ job }) => job),
    )
    // A job that has expired under way is somebody else's, and so is what there is to say of it.
    const own = all.filter(({ job }) => mine.has(job.id))
    if (own.length === 0) return
    await tx.sql(record, [
      own.map(({ deliveryId }) => deliveryId),
      own.map(({ status }) => status),
      own.map(({ attempt }) => attempt && JSON.stringify(attempt)),
      own.map(({ request }) => request && JSON.stringify(request)),
      own.map(({ next }) => next),
    ])
    const again = own.filter(({ status }) => status === 'pending')
    if (again.length > 0) {
      await deliveries.add(
        tx,
        again.map(({ deliveryId, endpointId, lane, next }) => ({
          data: { delivery_id: deliveryId },
          group: endpointId,
          lane,
          startAfter: next!,
        })),
      )
    }
    await noteEndpoints(tx, own)
  }

  async function noteEndpoints(tx: Db, outcomes: Outcome[]): Promise<void> {
    const well = endpointsOf(outcomes.filter(({ status }) => status === 'succeeded'))
    const failures = outcomes.filter(
      ({ status, attempt, request }) => status !== 'succeeded' && attempt !== null && request !== null,
    )
    const failing = endpointsOf(failures)
    const changing = await tx.sql(concerned, [failing, well])
    if (changing.length === 0) return
    await tx.sql(nowWell, [well])
    if (failing.length === 0) return
    await tx.sql(nowFailing, [failing])
    const disabled = await tx.sql(disable, [endpointsOf(failures.filter(({ gone }) => gone)), failing])
    if (disabled.length === 0) return
    for (const row of await tx.prisma.webhookEndpoint.findMany({
      where: { id: { in: disabled.map(({ id }) => id) } },
    })) {
      const endpoint = toWebhookEndpoint(row)
      await events.emit(tx, 'webhook_endpoint.disabled', endpoint, {
        userId: row.userId,
        previous: { ...endpoint, enabled: true, disabled_reason: null },
      })
    }
  }
}

/** Whether the database was out of reach, and another try may succeed. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ApiError && error.status === 503
}

function endpointsOf(outcomes: Outcome[]): string[] {
  return [...new Set(outcomes.map(({ endpointId }) => endpointId))]
}
