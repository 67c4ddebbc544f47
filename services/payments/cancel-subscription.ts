// Cancels and resumes subscriptions at the request of their users.
import type { Transaction } from '../../infra/database/database.ts'
import { invalidState } from '../../infra/errors.ts'
import { chargeOrder, insertCreditedOrder } from './charge.ts'
import { paymentsNow } from './clock.ts'
import type { PaymentServices } from './gateway.ts'
import { maxOrderAmount } from './currency.ts'
import { findOrder, owedLine, toOrderLine, totalOf, type OrderLine } from './orders.ts'
import { findPrice } from './products-and-prices.ts'
import { cancelSubscriptionAndOrder } from './settle.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import { chargeUsage, readDueUsage } from './usage-billing.ts'
import {
  isBilledByGateway,
  isPaidOrTrialing,
  setCancelAtPeriodEnd,
  type OwnedSubscription,
} from './subscriptions.ts'

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
 * Cancels a locked subscription immediately. A last order charges its usage so far, what changes within its
 * period added to the next order, and both of the last period if the order for that is not paid.
 */
export async function endSubscription(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<OwnedSubscription> {
  const unpaid = await linesBesidesPrices(tx, subscription)
  const ended = await cancelSubscriptionAndOrder(tx, services, subscription, at)
  const { owed_amount: owed, current_period_end: periodEnd } = subscription
  // A pause moves the end.
  const ends = subscription.cancel_at_period_end && subscription.status !== 'paused'
  const endsAt = ends ? new Date(Math.min(at.getTime(), Date.parse(periodEnd!))) : at
  const room = maxOrderAmount - owed - totalOf(unpaid)
  const usage = await readDueUsage(tx, services, subscription, { at: endsAt, room })
  await chargeUsage(tx, services, usage.charged, at)
  const { price_id: priceId, gateway } = ended
  const lines = [...unpaid, ...(owed > 0 ? [owedLine(priceId, owed)] : []), ...usage.lines]
  if (lines.length === 0) return ended
  const { currency } = await findPrice(tx, priceId)
  const total = totalOf(lines)
  // An order that the gateway cannot charge would stay unpaid.
  if (total > 0 && total < services.gateways.current.minimumOf(currency)) return ended
  const order = await insertCreditedOrder(tx, services, ended, { lines, currency, at })
  await chargeOrder(tx, services, { order, subscription: ended, checkout: null }, { gateway, at })
  return ended
}

/**
 * The lines of the unpaid latest order that charge the period before: its usage, and what changes added. They
 * follow those of the prices. The usage is recorded as charged: no other order has it.
 */
async function linesBesidesPrices(tx: Transaction, subscription: OwnedSubscription): Promise<OrderLine[]> {
  if (isBilledByGateway(subscription)) return []
  const { status, items } = await findOrder(tx, subscription.latest_order_id)
  if (status !== 'pending') return []
  return items
    .slice(subscription.items.length)
    .filter(({ amount }) => amount > 0)
    .map(toOrderLine)
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
