// Dunning: what follows a failed charge of a renewal.
import * as sql from '../../generated/sql/payments.ts'
import type { Transaction } from '../../infra/database/database.ts'
import type { PaymentServices } from './gateway.ts'
import { cancelOrder, cancelSubscriptionNow, type LockedOrder } from './settle.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import type { OwnedSubscription } from './subscriptions.ts'

/** Marks a subscription as past due until its next retry. */
export async function scheduleRetry(
  tx: Transaction,
  { dunning }: PaymentServices,
  { id, tries }: OwnedSubscription,
): Promise<OwnedSubscription> {
  return await sql.setPastDue(tx, { id, days: dunning.days[tries] })
}

/** Schedules the next retry of a past-due order. After the last, the subscription ends or goes on unpaid. */
export async function afterFailedRetry(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder & { subscription: OwnedSubscription },
  at: Date,
): Promise<void> {
  const { subscription } = locked
  const { days, end } = services.dunning
  if (subscription.tries < days.length) {
    await scheduleRetry(tx, services, subscription)
    return
  }
  if (end === 'unpaid') {
    const unpaid = await sql.setUnpaid(tx, { id: subscription.id })
    await emitSubscriptionUpdated(tx, services.events, subscription, unpaid)
    return
  }
  await cancelSubscriptionNow(tx, services, subscription, at)
  await cancelOrder(tx, services, locked, at)
}
