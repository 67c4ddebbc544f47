// Pauses and continues subscriptions.
import * as sql from '../../generated/sql/payments.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { invalidField, invalidState } from '../../infra/errors.ts'
import { dropChange, requireChangeable } from './change-subscription.ts'
import { paymentsNow } from './clock.ts'
import type { PaymentServices } from './gateway.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import { isPaidOrTrialing, type OwnedSubscription } from './subscriptions.ts'

/** The longest pause that ends by itself: two years. */
const maxPauseMs = 2 * 366 * 86_400_000

/**
 * Pauses a locked subscription, until `resumesAt` if that is given. Returns a paused one as it is.
 * @throws 409 for a status other than `active` and `trialing`, 400 for a time that is past or too far away.
 */
export async function pauseSubscription(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  resumesAt: Date | null,
): Promise<OwnedSubscription> {
  const { id, status } = subscription
  if (status === 'paused') return subscription
  if (!isPaidOrTrialing(status)) throw invalidState('subscription', status)
  requireChangeable(subscription)
  const at = await paymentsNow(tx)
  if (resumesAt !== null && (resumesAt <= at || resumesAt.getTime() > at.getTime() + maxPauseMs))
    throw invalidField('resumes_at', 'range', 'The time must be in the next two years.')
  if (subscription.scheduled_change?.order_id != null) await dropChange(tx, services, subscription)
  const paused = await sql.pauseSubscription(tx, { id, at, resumes_at: resumesAt })
  return await emitSubscriptionUpdated(tx, services.events, subscription, paused)
}

/**
 * Continues a locked subscription that is paused. Returns one that is active or in its trial as it is.
 * @throws 409 for other statuses.
 */
export async function unpauseSubscription(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
): Promise<OwnedSubscription> {
  const { id, status } = subscription
  if (isPaidOrTrialing(status)) return subscription
  if (status !== 'paused') throw invalidState('subscription', status)
  requireChangeable(subscription)
  const continued = await sql.unpauseSubscription(tx, { id, at: await paymentsNow(tx) })
  return await emitSubscriptionUpdated(tx, services.events, subscription, continued)
}
