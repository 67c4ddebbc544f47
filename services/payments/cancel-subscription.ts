// Cancels and resumes subscriptions at the request of their users.
import type { Transaction } from '../../infra/database/database.ts'
import { invalidState } from '../../infra/errors.ts'
import { chargeOrder } from './charge.ts'
import { paymentsNow } from './clock.ts'
import type { PaymentServices } from './gateway.ts'
import { creditFor, post, subjectOf } from './ledger.ts'
import { insertOrder, owedLine } from './orders.ts'
import { findPrice } from './products-and-prices.ts'
import { cancelSubscriptionAndOrder } from './settle.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import { setCancelAtPeriodEnd, type OwnedSubscription } from './subscriptions.ts'

/**
 * Cancels a locked subscription: at the end of its period, or immediately. Only an active subscription or a
 * trial can be canceled at period end; others are canceled immediately. Returns one that is canceled, or
 * scheduled to be, as it is.
 */
export async function cancelSubscription(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  { atPeriodEnd }: { atPeriodEnd: boolean },
): Promise<OwnedSubscription> {
  const { status } = subscription
  const at = await paymentsNow(tx)
  if (status === 'canceled') return subscription
  if (!isPaidOrTrialing(status) || !atPeriodEnd) return await endSubscription(tx, services, subscription, at)
  if (subscription.cancel_at_period_end) return subscription
  return await changeCancellation(tx, services, subscription, at)
}

/**
 * Cancels a locked subscription immediately. What changes within its period added to the next order is
 * charged.
 */
export async function endSubscription(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<OwnedSubscription> {
  const ended = await cancelSubscriptionAndOrder(tx, services, subscription, at)
  const { owed_amount: owed } = subscription
  if (owed === 0) return ended
  const {
    id,
    project_id: projectId,
    owner_id: ownerId,
    customer_id: customerId,
    price_id: priceId,
    gateway,
  } = ended
  const { currency } = await findPrice(tx, priceId)
  const credit = await creditFor(tx, { customerId, currency }, owed)
  const order = await insertOrder(
    tx,
    { lines: [owedLine(priceId, owed)], currency, total: owed, now: at },
    { projectId, ownerId, subscription: { id, period: null }, credit },
  )
  post(tx, subjectOf(order, at), [['balance', 'held', credit]])
  await services.events.emit(tx, 'order.created', order, { userId: ownerId })
  await chargeOrder(tx, services, { order, subscription: ended, checkout: null }, { gateway, at })
  return ended
}

/**
 * Removes the scheduled cancellation of a locked subscription. Returns an active one that has none as it is.
 * Throws 409 for one that has ended or not begun.
 */
export async function resumeSubscription(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
): Promise<OwnedSubscription> {
  const { status, cancel_at_period_end: isScheduled } = subscription
  if (status === 'canceled' || (!isPaidOrTrialing(status) && !isScheduled))
    throw invalidState('subscription', status)
  if (!isScheduled) return subscription
  return await changeCancellation(tx, services, subscription, null)
}

export function isPaidOrTrialing(status: OwnedSubscription['status']): boolean {
  return status === 'active' || status === 'trialing'
}

async function changeCancellation(
  tx: Transaction,
  { events, gateways }: PaymentServices,
  subscription: OwnedSubscription,
  canceledAt: Date | null,
): Promise<OwnedSubscription> {
  const changed = await setCancelAtPeriodEnd(tx, subscription.id, { canceledAt })
  await emitSubscriptionUpdated(tx, events, subscription, changed)
  await gateways.of(subscription.gateway).syncCancellation(tx, changed)
  return changed
}
