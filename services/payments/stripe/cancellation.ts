// How a subscription ends is decided here, and Stripe is told of it: until it has heard, nothing counts that it says of that.
import type { Stripe } from 'stripe'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import type { GatewayJob, SettleServices } from '../gateway.ts'
import { subscriptionById } from '../subscriptions.ts'
import { StripeFailure, type StripeConnection } from './client.ts'
import { askSubscription } from './subscriptions.ts'
import { endOf, endsWithPeriod, hasEnded, type End, type StripeSubscription } from './mapping.ts'
import { learn } from './events.ts'

const decide = statement<{ id: string }>(
  "UPDATE subscriptions SET told_at = 'infinity' WHERE id = $1 AND gateway_reference IS NOT NULL RETURNING id",
)

/** Stripe is to hear how a subscription ends; until then it is not believed. One that has not begun there is closed with its session. */
export async function follow(tx: Db, jobs: Queue<GatewayJob>, { id }: { id: string }): Promise<void> {
  if ((await tx.sql(decide, [id])).length === 1)
    await jobs.add(tx, [{ data: { task: 'follow', id, tries: 0 }, group: id }])
}

const believeAgain = statement(
  "UPDATE subscriptions SET told_at = NULL WHERE id = $1 AND told_at = 'infinity'",
)

/** Stripe could not be told: what it says counts again. */
export async function giveUpFollowing(tx: Db, id: string): Promise<void> {
  await tx.sql(believeAgain, [id])
}

/** Tells Stripe how a subscription is to end, and asks what became of it. `key` is that of the request. */
export async function tellEnd(
  stripe: StripeConnection,
  db: Db,
  services: SettleServices,
  id: string,
  key: string,
): Promise<void> {
  const row = await subscriptionById(db, id)
  if (row === undefined || row.gateway_reference === null) return
  const { gateway_reference: reference } = row
  const end = endOf(row)
  await learn(db, services, async () => {
    const subscription = await stripe.ask((api) => api.subscriptions.retrieve(reference))
    const change = changeTo(subscription, end)
    try {
      if (change === 'cancel')
        await stripe.ask((api) => api.subscriptions.cancel(reference, {}, { idempotencyKey: key }))
      else if (change !== null)
        await stripe.ask((api) => api.subscriptions.update(reference, change, { idempotencyKey: key }))
    } catch (error) {
      if (!(error instanceof StripeFailure) || error.passing) throw error
      // It may have ended in this moment.
      const { status } = await stripe.ask((api) => api.subscriptions.retrieve(reference))
      if (!hasEnded(status)) throw error
    }
    return await askSubscription(stripe, db, reference, { followed: end })
  })
}

function changeTo(
  subscription: StripeSubscription,
  end: End,
): 'cancel' | Stripe.SubscriptionUpdateParams | null {
  if (hasEnded(subscription.status)) return null
  if (end === 'now') return 'cancel'
  if (endsWithPeriod(subscription) === (end === 'with its period')) return null
  if (end === 'with its period') return { cancel_at_period_end: true }
  return subscription.cancel_at_period_end ? { cancel_at_period_end: false } : { cancel_at: '' }
}
