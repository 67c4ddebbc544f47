// Subscriptions at Stripe, which renews them itself: its invoices become orders, and its periods and states are taken over.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { paymentsNow } from '../clock.ts'
import { isAbandoned } from '../renewals.ts'
import { cancelOrder, endSubscription, lockDeal, tellSubscription } from '../settle.ts'
import type { SettleServices } from '../gateway.ts'
import { setEnd, shownSubscription, subscriptionById, type OwnedSubscription } from '../subscriptions.ts'
import type { StripeConnection } from './client.ts'
import { settleInvoices, type Billed } from './invoices.ts'
import { endOf, endsWithPeriod, hasEnded, periodOf, states, type End, type Invoice } from './mapping.ts'
import { stripeName, type Settle } from './events.ts'

/** What Stripe has said of a subscription, with its invoices as far back as there may be anything new. */
interface View extends Billed {
  /** When it was asked. */
  asked: Date
  /** What Stripe was told before, where it was. */
  followed: End | null
}

// A period more than what is known, and a day: Stripe makes an invoice at the beginning of what it is for.
const firstNew = statement<{ since: number | null }>(`
  SELECT floor(extract(epoch FROM period_start - (period_end - period_start) - interval '1 day'))::bigint AS since FROM subscriptions WHERE gateway_reference = $1`)

/** Asks about a subscription and its invoices. @param invoice is one that may be older than what is asked about. */
export async function askSubscription(
  stripe: StripeConnection,
  db: Db,
  id: string,
  { invoice = null, followed = null }: { invoice?: Invoice | null; followed?: End | null } = {},
): Promise<Settle> {
  const since = (await db.sql(firstNew, [id]))[0]?.since ?? null
  const asked = await paymentsNow(db)
  const subscription = await stripe.ask((api) => api.subscriptions.retrieve(id))
  const invoices = await stripe.ask((api) =>
    api.invoices
      .list({ subscription: id, limit: 100, ...(since !== null && { created: { gte: since } }) })
      .autoPagingToArray({ limit: 10_000 }),
  )
  if (invoice !== null && !invoices.some((one) => one.id === invoice.id)) invoices.push(invoice)
  invoices.sort((a, b) => a.created - b.created)
  return (tx, services) => settleSubscription(tx, services, { asked, subscription, invoices, followed })
}

/** Asks about the subscription of an invoice, if it is of one. */
export async function askInvoice(stripe: StripeConnection, db: Db, id: string): Promise<Settle> {
  const invoice = await stripe.ask((api) => api.invoices.retrieve(id))
  const subscription = invoice.parent?.subscription_details?.subscription
  if (subscription === undefined) return async () => 'settled'
  return await askSubscription(
    stripe,
    db,
    typeof subscription === 'string' ? subscription : subscription.id,
    { invoice },
  )
}

async function settleSubscription(
  tx: Db,
  services: SettleServices,
  view: View,
): Promise<'settled' | 'ask again'> {
  const id = view.subscription.metadata.subscription_id
  const before = id === undefined ? undefined : await subscriptionById(tx, id, { lock: true })
  // Others may use the same account.
  if (before?.gateway !== stripeName) return 'settled'
  if (before.gateway_reference !== null && before.gateway_reference !== view.subscription.id)
    throw new Error(`${view.subscription.id} says that it is ${id}, which is another one`)
  const belief = await believe(tx, services, before, view)
  if (belief === 'ask again') return belief
  const at = await paymentsNow(tx)
  const current = belief === 'newest'
  const told = await settleInvoices(tx, services, before, view, { at, current })
  if (current) await takeOver(tx, told, view, at)
  await settleEnd(tx, services, told, view, { at, current })
  return 'settled'
}

const tell = statement<{ id: string }>(`
  UPDATE subscriptions SET told_at = $2, gateway_reference = coalesce(gateway_reference, $3)
  WHERE id = $1 AND (told_at IS NULL OR told_at < $2 OR (told_at = 'infinity' AND $4)) RETURNING id`)
const sameTime = statement<{ id: string }>('SELECT id FROM subscriptions WHERE id = $1 AND told_at = $2')

/** Whether a view is the newest that there is; of two of the same time nobody knows. What Stripe has to hear of first makes all that it says old. */
async function believe(
  tx: Db,
  { gateways }: SettleServices,
  subscription: OwnedSubscription,
  { asked, subscription: { id }, followed }: View,
): Promise<'newest' | 'old' | 'ask again'> {
  if (followed !== null && followed !== endOf(subscription)) {
    // It was decided anew while Stripe was told.
    await gateways.of(stripeName).follow(tx, subscription)
    return 'old'
  }
  if ((await tx.sql(tell, [subscription.id, asked, id, followed !== null])).length === 1) return 'newest'
  return (await tx.sql(sameTime, [subscription.id, asked])).length === 1 ? 'ask again' : 'old'
}

const setDates = statement(
  'UPDATE subscriptions SET period_start = $2, period_end = $3 WHERE id = $1 AND period > 0',
)
const setStatus = statement(
  "UPDATE subscriptions SET status = $2::\"SubscriptionStatus\" WHERE id = $1 AND status IN ('active', 'past_due')",
)
const pendingOrders = statement<{ id: string }>(
  "SELECT id FROM orders WHERE subscription_id = $1 AND status = 'pending' ORDER BY id",
)

/** Takes over the period, the state, and whether it is to end. */
async function takeOver(
  tx: Db,
  { id, status, cancel_at_period_end: atPeriodEnd }: OwnedSubscription,
  { subscription }: View,
  at: Date,
): Promise<void> {
  if (status === 'canceled') return
  const { start, end } = periodOf(subscription)
  await tx.sql(setDates, [id, start, end])
  if (endsWithPeriod(subscription) !== atPeriodEnd)
    await setEnd(tx, id, { canceledAt: atPeriodEnd ? null : at })
  const now = states[subscription.status]
  if (now !== undefined) await tx.sql(setStatus, [id, now])
}

/** Ends it when it has ended there, or nobody is left to pay; else tells of what has changed. @param told the subscription as it was last told of. */
async function settleEnd(
  tx: Db,
  services: SettleServices,
  told: OwnedSubscription,
  { followed, subscription }: View,
  { at, current }: { at: Date; current: boolean },
): Promise<void> {
  const { id } = told
  const now = (await subscriptionById(tx, id))!
  const wasOver = now.status === 'canceled'
  const overThere = current && hasEnded(subscription.status)
  const ends = !wasOver && (overThere || (followed === null && (await isAbandoned(tx, id))))
  if (ends) await endSubscription(tx, services, told, at, { told: overThere })
  else if (JSON.stringify(shownSubscription(now)) !== JSON.stringify(shownSubscription(told)))
    await tellSubscription(tx, services.events, told, now)
  if (!ends && !wasOver) return
  for (const order of await tx.sql(pendingOrders, [id]))
    await cancelOrder(tx, services, await lockDeal(tx, order.id), at)
  // It has begun there after it had ended here.
  if (wasOver && current && !overThere && followed === null)
    await services.gateways.of(stripeName).follow(tx, now)
}
