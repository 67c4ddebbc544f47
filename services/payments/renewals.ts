// What time brings about: renewals and their retries, sessions that expire, slow payments that come to their end. One thing after the other,
// each in its own transaction and found by an index, in the order in which it is due, by the clock of payments. Any number of processes may do it
// at once.
import { statement, type Db } from '../database.ts'
import { paymentsNow } from './clock.ts'
import { insertOrder } from './orders.ts'
import { cancelOrder, endSubscription, expireCheckout, keepPayment, lockDeal, settlePayment, tellSubscription, type SettleServices } from './settle.ts'
import { beginPeriod, subscriptionById, type OwnedSubscription } from './subscriptions.ts'

/** Days after the beginning of a period on which an unpaid renewal is tried again; after the last it ends. */
export const retryDays = [1, 3, 5, 9, 14]

interface Due { kind: 'subscription' | 'checkout' | 'payment', id: string, at: string }

// A session whose gateway knows it is over when that says so; one with a slow payment when that is done.
const ownCheckout = `c.status = 'open' AND c.gateway_reference IS NULL AND NOT EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'processing')`
const dues = [
  "(SELECT 'subscription' AS kind, id, due_at AS at FROM subscriptions WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1)",
  `(SELECT 'checkout', c.id, c.expires_at FROM checkouts c WHERE ${ownCheckout} ORDER BY c.expires_at LIMIT 1)`,
  "(SELECT 'payment', id, due_at FROM payments WHERE status = 'processing' AND due_at IS NOT NULL ORDER BY due_at LIMIT 1)"
].join(' UNION ALL ')
const earliest = statement<Due>(`SELECT * FROM (${dues}) due ORDER BY at LIMIT 1`)

/** What is due next, however far away; null when nothing is. */
export async function nextDue (db: Db): Promise<{ at: Date } | null> {
  const [due] = await db.sql(earliest, [])
  return due === undefined ? null : { at: new Date(due.at) }
}

const takeSubscription = statement<Due>(`SELECT 'subscription' AS kind, id, due_at AS at FROM subscriptions WHERE due_at <= payments_now() ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`)
const takeCheckout = statement<Due>(`SELECT 'checkout' AS kind, c.id, c.expires_at AS at FROM checkouts c WHERE c.expires_at <= payments_now() AND ${ownCheckout} ORDER BY c.expires_at LIMIT 1`)
const takePayment = statement<Due & { order_id: string, checkout_id: string, gateway: string }>(`
  SELECT 'payment' AS kind, id, due_at AS at, order_id, checkout_id, gateway FROM payments WHERE status = 'processing' AND due_at <= payments_now() ORDER BY due_at LIMIT 1`)
/** Of several that are due the kinds come in this order; of one kind what is due first. */
const steps = [finishPayment, expireOne, renewOne]

/** Does the one thing that is due, or the first of them. @returns whether there was one. */
export async function doDue (db: Db, services: SettleServices): Promise<boolean> {
  for (const step of steps) if (await db.transaction((tx) => step(tx, services))) return true
  return false
}

async function finishPayment (tx: Db, services: SettleServices): Promise<boolean> {
  const [due] = await tx.sql(takePayment, [])
  if (due === undefined) return false
  const deal = await lockDeal(tx, due.order_id)
  const card = await cardOfPayment(tx, due.id)
  const at = await paymentsNow(tx)
  await settlePayment(tx, services, deal, { id: due.id, gateway: due.gateway, reference: null, checkoutId: due.checkout_id, card, at }, card)
  return true
}

const card = statement<{ card: OwnedSubscription['card'] }>('SELECT card FROM payments WHERE id = $1')

async function cardOfPayment (tx: Db, id: string): Promise<OwnedSubscription['card']> {
  const [found] = await tx.sql(card, [id])
  return found.card
}

const orderOf = statement<{ order_id: string }>('SELECT order_id FROM checkouts WHERE id = $1')

async function expireOne (tx: Db, services: SettleServices): Promise<boolean> {
  const [due] = await tx.sql(takeCheckout, [])
  if (due === undefined) return false
  const [{ order_id: orderId }] = await tx.sql(orderOf, [due.id])
  const deal = await lockDeal(tx, orderId)
  // It may have been paid, or its gateway begun with it, while we waited.
  if (deal.checkout?.id === due.id && deal.checkout.gateway_reference === null) await expireCheckout(tx, services, deal, due.id, await paymentsNow(tx))
  return true
}

async function renewOne (tx: Db, services: SettleServices): Promise<boolean> {
  const [due] = await tx.sql(takeSubscription, [])
  if (due === undefined) return false
  const subscription = (await subscriptionById(tx, due.id, { lock: true }))!
  const at = await paymentsNow(tx)
  if (subscription.status === 'past_due') await retry(tx, services, subscription, at)
  else if (subscription.cancel_at_period_end || await isAbandoned(tx, subscription)) await endSubscription(tx, services, subscription, at)
  else await renew(tx, services, subscription, at)
  return true
}

const abandoned = statement<{ abandoned: boolean }>(`
  SELECT u.status = 'deleted' OR coalesce(p.status = 'deleted', false) AS abandoned
  FROM subscriptions s JOIN users u ON u.id = s.owner_id LEFT JOIN projects p ON p.id = s.project_id WHERE s.id = $1`)

/** Nobody pays for what is deleted. Whoever left a project has left the subscription to it. */
async function isAbandoned (tx: Db, { id }: OwnedSubscription): Promise<boolean> {
  const [found] = await tx.sql(abandoned, [id])
  return found.abandoned
}

const priceOf = statement<{ unit_amount: number, currency: string, name: string }>(`
  SELECT p.unit_amount, p.currency, d.name FROM prices p JOIN products d ON d.id = p.product_id WHERE p.id = $1`)

/** The order of the period that begins. What is archived goes on for those who have it. */
async function renew (tx: Db, services: SettleServices, subscription: OwnedSubscription, at: Date): Promise<void> {
  const { id, price_id: priceId, quantity, project_id: projectId, owner_id: ownerId, metadata } = subscription
  const [price] = await tx.sql(priceOf, [priceId])
  const amount = price.unit_amount * quantity
  const line = { priceId, productName: price.name, quantity, unitAmount: price.unit_amount, amount }
  const order = await insertOrder(tx, { lines: [line], currency: price.currency, total: amount, now: at }, { projectId, ownerId, metadata, subscription: { id, period: subscription.period + 1 } })
  await services.events.emit(tx, 'order.created', order, { userId: ownerId })
  await beginPeriod(tx, id, order.id)
  await charge(tx, services, subscription, order.id, at)
}

async function retry (tx: Db, services: SettleServices, subscription: OwnedSubscription, at: Date): Promise<void> {
  await charge(tx, services, subscription, subscription.latest_order_id, at)
}

const paidInTime = statement('UPDATE subscriptions SET due_at = period_end WHERE id = $1')
const overdue = statement("UPDATE subscriptions SET status = 'past_due', tries = $2, due_at = period_start + $3 * interval '1 day' WHERE id = $1")

/** Tries the card. One that does not pay leaves the subscription overdue, until it was tried often enough. */
async function charge (tx: Db, services: SettleServices, before: OwnedSubscription, orderId: string, at: Date): Promise<void> {
  const deal = await lockDeal(tx, orderId)
  const { id, card } = before
  const told = { gateway: before.gateway, reference: null, checkoutId: null, card, at }
  if (card?.renews === true) {
    await settlePayment(tx, services, deal, told)
    if (before.status !== 'active') return
    await tx.sql(paidInTime, [id])
    await tellSubscription(tx, services.events, before)
    return
  }
  await keepPayment(tx, deal.order, told, { status: 'failed', code: 'card_declined' })
  const tries = deal.subscription!.tries + 1
  if (tries <= retryDays.length) {
    await tx.sql(overdue, [id, tries, retryDays[tries - 1]])
    if (before.status === 'active') await tellSubscription(tx, services.events, before)
    return
  }
  await endSubscription(tx, services, (await subscriptionById(tx, id))!, at)
  await cancelOrder(tx, services, deal, at)
}
