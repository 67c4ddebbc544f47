// The outcome of a charge that a gateway reports later.
import * as sql from '../../generated/sql/payments.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { afterFailedRetry, scheduleRetry } from './dunning.ts'
import type { PaymentServices } from './gateway.ts'
import { applyPayment, failPayment, type LockedOrder, type PaymentNotification } from './settle.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import { awaitsCharge, toSubscription } from './subscriptions.ts'

/**
 * Applies the outcome of a charge that was pending to its locked order. Idempotent. A failed charge of the
 * present period makes its subscription past due; that of a retry is followed by the next one.
 */
export async function settleCharge(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder,
  notification: PaymentNotification & { id: string },
  outcome: 'succeeded' | { failed: string },
): Promise<void> {
  const { order, subscription } = locked
  const isPeriod = subscription?.latest_order_id === order.id
  if (outcome === 'succeeded') {
    const paid = await applyPayment(tx, services, locked, notification)
    if (!paid || !isPeriod || !awaitsCharge(subscription)) return
    const renewed = toSubscription(await sql.setDueAtPeriodEnd(tx, { id: subscription.id }))
    await services.events.emit(tx, 'subscription.renewed', renewed, {
      previous: toSubscription(subscription),
      userId: subscription.owner_id,
    })
    return
  }
  const failed = await failPayment(tx, services, order, notification, outcome.failed)
  if (!failed || !isPeriod) return
  if (awaitsCharge(subscription)) {
    const changed = await scheduleRetry(tx, services, subscription)
    await emitSubscriptionUpdated(tx, services.events, subscription, changed)
  } else if (subscription.status === 'past_due')
    await afterFailedRetry(tx, services, subscription, notification.at)
}
