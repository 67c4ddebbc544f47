// Webhooks are only a trigger: the state is always fetched from Stripe's API. The order and the number of
// webhooks therefore do not matter. Stripe is called outside of transactions; one transaction then applies
// the fetched state and records the event.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { RolledBack } from '../../../infra/errors.ts'
import type { RetentionTask } from '../../../infra/jobs/retention.ts'
import { applyPayment, lockOrder, type PaymentNotification } from '../settle.ts'
import type { PaymentServices } from '../gateway.ts'
import { deleteBatchStep } from '../../../infra/database/batch-delete.ts'

/** The name of this gateway in the database. */
export const stripeName = 'stripe'

/**
 * Applies fetched state in a transaction. `fetch again` means that it may be older than the state already
 * applied.
 */
export type ApplyState = (tx: Db, services: PaymentServices) => Promise<'applied' | 'fetch again'>

export interface WebhookEvent {
  id: string
  type: string
}

const insertEvent = statement<{ id: string }>(
  'INSERT INTO gateway_events (id, type) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id',
)
const findEvent = statement<{ id: string }>('SELECT id FROM gateway_events WHERE id = $1')

export async function wasProcessed(db: Db, { id }: WebhookEvent): Promise<boolean> {
  return (await db.sql(findEvent, [id])).length === 1
}

/**
 * Fetches state from Stripe and applies it. Fetches again while the state may be outdated.
 * @param event the webhook event to record in the same transaction; an event that was recorded before is
 * skipped.
 */
export async function fetchAndApply(
  db: Db,
  services: PaymentServices,
  fetchState: () => Promise<ApplyState>,
  event: WebhookEvent | null = null,
): Promise<void> {
  for (;;) {
    const apply = await fetchState()
    try {
      await db.transaction(async (tx) => {
        if (event !== null && (await tx.sql(insertEvent, [event.id, event.type])).length === 0) return
        if ((await apply(tx, services)) === 'fetch again') throw new RolledBack()
      })
      return
    } catch (error) {
      if (!(error instanceof RolledBack)) throw error
    }
  }
}

export interface RecordedPayment {
  id: string
  order_id: string
  status: string
}

const byReference = statement<RecordedPayment>(
  'SELECT id, order_id, status::text FROM payments WHERE gateway = $1 AND gateway_reference = $2',
)

/**
 * Finds a payment by Stripe's id. Lock the payment's order first, so that no other transaction inserts the
 * payment.
 */
export async function findPaymentByReference(
  tx: Db,
  reference: string,
): Promise<RecordedPayment | undefined> {
  const [found] = await tx.sql(byReference, [stripeName, reference])
  return found
}

/**
 * Applies a successful payment, whether or not it was recorded as processing before.
 * @returns true if it paid the order.
 */
export async function applyStripePayment(
  tx: Db,
  services: PaymentServices,
  orderId: string,
  notification: Omit<PaymentNotification, 'gateway' | 'card' | 'id'> & { reference: string },
): Promise<boolean> {
  const locked = await lockOrder(tx, orderId)
  const recorded = await findPaymentByReference(tx, notification.reference)
  return await applyPayment(tx, services, locked, {
    ...notification,
    gateway: stripeName,
    card: null,
    ...(recorded?.status === 'processing' && { id: recorded.id }),
  })
}

const expiredEvents = "SELECT id FROM gateway_events WHERE received_at < now() - interval '30 days' LIMIT $1"

/** Deletes events after 30 days: Stripe does not send older ones again. */
export function stripeEventRetentionTasks(): RetentionTask[] {
  return [{ name: 'gateway events', step: deleteBatchStep('gateway_events', expiredEvents, 1_000) }]
}
