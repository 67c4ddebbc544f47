// Dunning: what follows a failed charge of a renewal.
import * as sql from '../../generated/sql/payments.ts'
import type { Transaction } from '../../infra/database/database.ts'
import { endSubscription } from './cancel-subscription.ts'
import type { PaymentServices } from './gateway.ts'
import { cancelSubscriptionAndOrder } from './settle.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import { isAbandoned, type OwnedSubscription } from './subscriptions.ts'

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
  subscription: OwnedSubscription,
  at: Date,
): Promise<void> {
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
  if (await isAbandoned(tx, subscription.id)) await cancelSubscriptionAndOrder(tx, services, subscription, at)
  else await endSubscription(tx, services, subscription, at)
}
