// Cancellations are decided here and sent to Stripe. While one is pending (`subscriptions.sync_pending`),
// Stripe's state of the subscription is ignored.
import type { Stripe } from 'stripe'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import type { GatewayJob, PaymentServices } from '../gateway.ts'
import { findSubscription } from '../subscriptions.ts'
import { StripeFailure, type StripeClient } from './client.ts'
import { fetchSubscription } from './subscriptions.ts'
import {
  cancellationOf,
  cancelsAtPeriodEnd,
  hasEnded,
  type Cancellation,
  type StripeSubscription,
} from './mapping.ts'
import { fetchAndApply } from './events.ts'

/**
 * Enqueues a job that sends a subscription's cancellation state to Stripe, and ignores Stripe's state until
 * then. Does nothing for a subscription that does not exist at Stripe yet: it is never created once its
 * session is expired.
 */
export async function enqueueCancellationSync(
  tx: Transaction,
  jobs: Queue<GatewayJob>,
  { id }: { id: string },
): Promise<void> {
  if ((await sql.setSyncPending(tx, { id })) !== undefined)
    await jobs.add(tx, [{ data: { task: 'sync_cancellation', id, tries: 0 }, group: id }])
}

/** Called when the retries are exhausted: accepts Stripe's state again. */
export async function abandonSync(tx: Transaction, id: string): Promise<void> {
  await sql.acceptGatewayState(tx, { id })
}

/**
 * Sends a subscription's cancellation state to Stripe and applies the result. `key` is the request's
 * idempotency key.
 */
export async function sendCancellation(
  stripe: StripeClient,
  db: Db,
  services: PaymentServices,
  id: string,
  key: string,
): Promise<void> {
  const row = await findSubscription(db, id)
  if (row === undefined || row.gateway_reference === null) return
  const { gateway_reference: reference } = row
  const cancellation = cancellationOf(row)
  await fetchAndApply(db, services, async () => {
    const subscription = await stripe.request((api) => api.subscriptions.retrieve(reference))
    const change = changeTo(subscription, cancellation)
    try {
      if (change === 'cancel')
        await stripe.request((api) => api.subscriptions.cancel(reference, {}, { idempotencyKey: key }))
      else if (change !== null)
        await stripe.request((api) => api.subscriptions.update(reference, change, { idempotencyKey: key }))
    } catch (error) {
      if (!(error instanceof StripeFailure) || error.retryable) throw error
      // Stripe refuses to change a subscription that has ended in the meantime.
      const { status } = await stripe.request((api) => api.subscriptions.retrieve(reference))
      if (!hasEnded(status)) throw error
    }
    return await fetchSubscription(stripe, db, reference, { sent: cancellation })
  })
}

function changeTo(
  subscription: StripeSubscription,
  cancellation: Cancellation,
): 'cancel' | Stripe.SubscriptionUpdateParams | null {
  if (hasEnded(subscription.status)) return null
  if (cancellation === 'now') return 'cancel'
  if (cancelsAtPeriodEnd(subscription) === (cancellation === 'at period end')) return null
  if (cancellation === 'at period end') return { cancel_at_period_end: true }
  return subscription.cancel_at_period_end ? { cancel_at_period_end: false } : { cancel_at: '' }
}
