// Cancels and resumes subscriptions at the request of their users.
import type { Transaction } from '../../infra/database/database.ts'
import { invalidState } from '../../infra/errors.ts'
import { paymentsNow } from './clock.ts'
import type { PaymentServices } from './gateway.ts'
import { cancelSubscriptionAndOrder, emitSubscriptionUpdated } from './settle.ts'
import { setCancelAtPeriodEnd, type OwnedSubscription } from './subscriptions.ts'

/**
 * Cancels a locked subscription: at the end of its period, or immediately. Only an active subscription can be
 * canceled at period end; others are canceled immediately. Throws 409 when it is canceled or already
 * scheduled to be.
 */
export async function cancelSubscription(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  { atPeriodEnd }: { atPeriodEnd: boolean },
): Promise<OwnedSubscription> {
  const { status } = subscription
  const at = await paymentsNow(tx)
  if (status === 'canceled') throw invalidState('subscription', status)
  if (status !== 'active' || !atPeriodEnd)
    return await cancelSubscriptionAndOrder(tx, services, subscription, at)
  if (subscription.cancel_at_period_end)
    throw invalidState(
      'subscription',
      'scheduled',
      'The subscription is already canceled at the end of its period.',
      'cancel_at_period_end',
    )
  return await changeCancellation(tx, services, subscription, at)
}

/** Removes the scheduled cancellation of a locked subscription. Throws 409 when none is scheduled. */
export async function resumeSubscription(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
): Promise<OwnedSubscription> {
  const { status, cancel_at_period_end: isScheduled } = subscription
  if (status === 'canceled' || (status !== 'active' && !isScheduled))
    throw invalidState('subscription', status)
  if (!isScheduled)
    throw invalidState(
      'subscription',
      'not_scheduled',
      'The subscription is not canceled at the end of its period.',
      'cancel_at_period_end',
    )
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
