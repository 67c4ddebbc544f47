// What time brings about: renewals and their retries, sessions that expire, slow payments that come to their end. One thing after the other, each
// in its own transaction and found by an index, in the order in which it is due, by the clock of payments. Any number of processes may do it at
// once: who comes second to a thing waits for the first, and finds that it is not due any more.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { paymentsNow } from './clock.ts'
import { insertOrder } from './orders.ts'
import {
  cancelOrder,
  endSubscription,
  endWithOrder,
  expireCheckout,
  keepPayment,
  lockDeal,
  settlePayment,
  tellSubscription,
  type Deal,
} from './settle.ts'
import type { SettleServices } from './gateway.ts'
import {
  beginPeriod,
  subscriptionById,
  subscriptionColumns,
  type Card,
  type OwnedSubscription,
} from './subscriptions.ts'

/** Days after the beginning of a period on which an unpaid renewal is tried again; after the last it ends. */
export const retryDays = [1, 3, 5, 9, 14]

export interface Due {
  kind: 'payment' | 'checkout' | 'subscription'
  id: string
  at: Date
}

// A session whose gateway knows it is over when that says so; one with a slow payment when that is done.
const mayExpire = `c.status = 'open' AND c.gateway_reference IS NULL
  AND NOT EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'processing')`
const until = 'coalesce($1::timestamptz, payments_now())'
// Of what is due at the same time the kinds come in this order.
const first = statement<{ kind: Due['kind']; id: string; at: string }>(`
  SELECT kind, id, at FROM (
    (SELECT 1 AS rank, 'payment' AS kind, p.id, p.due_at AS at FROM payments p WHERE p.due_at <= ${until} AND p.id <> ALL($2) ORDER BY p.due_at, p.id LIMIT 1)
    UNION ALL
    (SELECT 2, 'checkout', c.id, c.expires_at FROM checkouts c WHERE ${mayExpire} AND c.expires_at <= ${until} AND c.id <> ALL($2) ORDER BY c.expires_at, c.id LIMIT 1)
    UNION ALL
    (SELECT 3, 'subscription', s.id, s.due_at FROM subscriptions s WHERE s.due_at <= ${until} AND s.id <> ALL($2) ORDER BY s.due_at, s.id LIMIT 1)
  ) due ORDER BY at, rank LIMIT 1`)

/** What is due first, now or at the given time, but for these ids; null when nothing is. One statement. */
export async function firstDue(
  db: Db,
  { at, except = [] }: { at?: Date; except?: string[] } = {},
): Promise<Due | null> {
  const [due] = await db.sql(first, [at ?? null, except])
  return due === undefined ? null : { ...due, at: new Date(due.at) }
}

/** Does what is due, unless somebody else has. */
export async function doDue(db: Db, services: SettleServices, { kind, id }: Due): Promise<void> {
  const work = { payment: finishPayment, checkout: expireOne, subscription: renewOne }[kind]
  await db.transaction((tx) => work(tx, services, id))
}

const slowPayment = statement<{ order_id: string; checkout_id: string; gateway: string; card: Card }>(`
  SELECT order_id, checkout_id, gateway, card FROM payments WHERE id = $1 AND due_at <= payments_now()`)

async function finishPayment(tx: Db, services: SettleServices, id: string): Promise<void> {
  const [due] = await tx.sql(slowPayment, [id])
  if (due === undefined) return
  const { order_id: orderId, checkout_id: checkoutId, gateway, card } = due
  const deal = await lockDeal(tx, orderId)
  await settlePayment(
    tx,
    services,
    deal,
    { id, gateway, reference: null, checkoutId, card, at: await paymentsNow(tx) },
    card,
  )
}

const orderOf = statement<{ order_id: string }>('SELECT order_id FROM checkouts WHERE id = $1')
const isOver = statement<{ now: string }>(
  `SELECT payments_now() AS now FROM checkouts c WHERE c.id = $1 AND ${mayExpire} AND c.expires_at <= payments_now()`,
)

async function expireOne(tx: Db, services: SettleServices, id: string): Promise<void> {
  const [{ order_id: orderId }] = await tx.sql(orderOf, [id])
  const deal = await lockDeal(tx, orderId)
  // It may have been paid, or its gateway begun with it, while we waited.
  const [over] = await tx.sql(isOver, [id])
  if (over !== undefined) await expireCheckout(tx, services, deal, id, new Date(over.now))
}

async function renewOne(tx: Db, services: SettleServices, id: string): Promise<void> {
  const subscription = (await subscriptionById(tx, id, { lock: true }))!
  const { status, due_at: dueAt, cancel_at_period_end: ends } = subscription
  const at = await paymentsNow(tx)
  if (dueAt === null || new Date(dueAt) > at) return
  if (ends || (await isAbandoned(tx, id))) await endWithOrder(tx, services, subscription, at)
  else if (status === 'past_due') await retry(tx, services, subscription, at)
  else await renew(tx, services, subscription, at)
}

const abandoned = statement<{ abandoned: boolean }>(`
  SELECT s.abandoned OR u.status = 'deleted' OR coalesce(p.status = 'deleted', false) AS abandoned
  FROM subscriptions s JOIN users u ON u.id = s.owner_id LEFT JOIN projects p ON p.id = s.project_id WHERE s.id = $1`)

/** Nobody pays for what is deleted. Whoever left a project has left the subscription to it. */
export async function isAbandoned(tx: Db, id: string): Promise<boolean> {
  const [found] = await tx.sql(abandoned, [id])
  return found.abandoned
}

const priceOf = statement<{ unit_amount: number; currency: string; name: string }>(`
  SELECT p.unit_amount, p.currency, d.name FROM prices p JOIN products d ON d.id = p.product_id WHERE p.id = $1`)
const paidInTime = statement<OwnedSubscription>(
  `UPDATE subscriptions s SET due_at = period_end WHERE id = $1 RETURNING ${subscriptionColumns}`,
)

/** The order of the period that begins, and a try to have it paid. What is archived goes on for those who have it. */
async function renew(tx: Db, services: SettleServices, before: OwnedSubscription, at: Date): Promise<void> {
  const { id, price_id: priceId, quantity, project_id: projectId, owner_id: ownerId, metadata } = before
  const [price] = await tx.sql(priceOf, [priceId])
  const amount = price.unit_amount * quantity
  const line = { priceId, productName: price.name, quantity, unitAmount: price.unit_amount, amount }
  const order = await insertOrder(
    tx,
    { lines: [line], currency: price.currency, total: amount, now: at },
    { projectId, ownerId, metadata, subscription: { id, period: before.period + 1 } },
  )
  await services.events.emit(tx, 'order.created', order, { userId: ownerId })
  const subscription = await beginPeriod(tx, id, order.id)
  const deal = { order, subscription, checkout: null }
  const [changed] = (await charge(tx, services, deal, before.card, at))
    ? await tx.sql(paidInTime, [id])
    : await postpone(tx, subscription)
  await tellSubscription(tx, services.events, before, changed)
}

/** What could not be paid so far is tried once more, or ends. */
async function retry(
  tx: Db,
  services: SettleServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<void> {
  const deal = await lockDeal(tx, subscription.latest_order_id)
  if (await charge(tx, services, deal, subscription.card, at)) return
  if (subscription.tries < retryDays.length) {
    await postpone(tx, subscription)
    return
  }
  await endSubscription(tx, services, subscription, at)
  await cancelOrder(tx, services, deal, at)
}

/** Tries the card. @returns whether it paid. */
async function charge(
  tx: Db,
  services: SettleServices,
  deal: Deal,
  card: Card | null,
  at: Date,
): Promise<boolean> {
  const told = { gateway: deal.subscription!.gateway, reference: null, checkoutId: null, card, at }
  if (card?.renews !== true) {
    await keepPayment(tx, deal.order, told, { status: 'failed', code: 'card_declined' })
    return false
  }
  // Otherwise it would stay due, and be given back again and again.
  if (!(await settlePayment(tx, services, deal, told)))
    throw new Error(`${deal.order.id} of ${deal.subscription!.id} is ${deal.order.status} and cannot be paid`)
  return true
}

const overdue = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET status = 'past_due', tries = tries + 1, due_at = period_start + $2 * interval '1 day' WHERE id = $1 RETURNING ${subscriptionColumns}`)

/** It is overdue until the next try. */
async function postpone(tx: Db, { id, tries }: OwnedSubscription): Promise<OwnedSubscription[]> {
  return await tx.sql(overdue, [id, retryDays[tries]])
}
