// Cancels and resumes subscriptions at the request of their users.
import type { Transaction } from '../../infra/database/database.ts'
import { invalidState } from '../../infra/errors.ts'
import { paymentsNow } from './clock.ts'
import type { PaymentServices } from './gateway.ts'
import { cancelSubscriptionAndOrder, emitSubscriptionUpdated } from './settle.ts'
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
  if (!isPaidOrTrialing(status) || !atPeriodEnd)
    return await cancelSubscriptionAndOrder(tx, services, subscription, at)
  if (subscription.cancel_at_period_end) return subscription
  return await changeCancellation(tx, services, subscription, at)
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

function isPaidOrTrialing(status: OwnedSubscription['status']): boolean {
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
