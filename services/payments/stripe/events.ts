// Webhooks are only a trigger: the state is always fetched from Stripe's API. The order and the number of
// webhooks therefore do not matter. Stripe is called outside of transactions; one transaction then applies
// the fetched state and records the event.
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { RolledBack } from '../../../infra/errors.ts'
import type { RetentionTask } from '../../../infra/jobs/retention.ts'
import type { NewCard } from '../payment-methods.ts'
import { applyPayment, lockOrder, type PaymentNotification } from '../settle.ts'
import type { PaymentServices } from '../gateway.ts'

/** The name of this gateway in the database. */
export const stripeName = 'stripe'

/**
 * Applies fetched state in a transaction. `fetch again` means that it may be older than the state already
 * applied.
 */
export type ApplyState = (tx: Transaction, services: PaymentServices) => Promise<'applied' | 'fetch again'>

export interface WebhookEvent {
  id: string
  type: string
}

export async function wasProcessed(db: Db, { id }: WebhookEvent): Promise<boolean> {
  return (await sql.findGatewayEvent(db, { id })) !== undefined
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
        if (event !== null) {
          const recorded = await sql.insertGatewayEvent(tx, { id: event.id, type: event.type })
          if (recorded === undefined) return
        }
        if ((await apply(tx, services)) === 'fetch again') throw new RolledBack()
      })
      return
    } catch (error) {
      if (!(error instanceof RolledBack)) throw error
    }
  }
}

export type RecordedPayment = sql.FindPaymentByReferenceRow

/**
 * Finds a payment by Stripe's id. Lock the payment's order first, so that no other transaction inserts the
 * payment.
 */
export async function findPaymentByReference(
  tx: Transaction,
  reference: string,
): Promise<RecordedPayment | undefined> {
  return await sql.findPaymentByReference(tx, { gateway: stripeName, gateway_reference: reference })
}

/**
 * Applies a successful payment, whether or not it was recorded as processing before.
 * @param card the card to store for its customer.
 * @returns true if it paid the order.
 */
export async function applyStripePayment(
  tx: Transaction,
  services: PaymentServices,
  orderId: string,
  notification: Omit<PaymentNotification, 'gateway' | 'id'> & { reference: string },
  card: NewCard | null = null,
): Promise<boolean> {
  const locked = await lockOrder(tx, orderId)
  const recorded = await findPaymentByReference(tx, notification.reference)
  const known = recorded?.status === 'processing' && { id: recorded.id }
  return await applyPayment(tx, services, locked, { ...notification, gateway: stripeName, ...known }, card)
}

const eventDays = 30
const eventsPerStep = 1_000

/** Deletes events after 30 days: Stripe does not send older ones again. */
export function stripeEventRetentionTasks(): RetentionTask[] {
  return [{ name: 'gateway events', step: deleteExpiredEvents }]
}

async function deleteExpiredEvents(db: Db): Promise<{ removed: number; more: boolean }> {
  const { n } = await sql.deleteGatewayEvents(db, { days: eventDays, limit: eventsPerStep })
  return { removed: n, more: n === eventsPerStep }
}
