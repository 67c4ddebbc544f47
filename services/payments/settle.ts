// What becomes of an order, its session and its subscription when money comes, or does not. Whoever tells of it, a page, a gateway
// or the calendar, it counts once: every change of a state is one conditional UPDATE with its event, in the caller's transaction.
// Locks are taken in one order everywhere: subscription, order, session.
import { statement, type Db } from '../database.ts'
import { invalidState } from '../errors.ts'
import type { Emitter } from '../events/emit.ts'
import { newIdAt } from '../ids.ts'
import { checkoutById, lockOpenCheckout, shownCheckout, type OwnedCheckout } from './checkouts.ts'
import type { Gateways } from './gateway.ts'
import { findOrder, type OwnedOrder } from './orders.ts'
import { shownSubscription, startSubscription, subscriptionById, type Card, type OwnedSubscription } from './subscriptions.ts'

export interface SettleServices {
  events: Emitter
  gateways: Gateways
}

/** Everything that hangs on an order, held against other writers. */
export interface Deal {
  order: OwnedOrder
  subscription: OwnedSubscription | null
  /** Its session, while one is open. */
  checkout: OwnedCheckout | null
}

export async function lockDeal (tx: Db, orderId: string): Promise<Deal> {
  // Which subscription it is of never changes.
  const { subscription_id: subscriptionId } = await findOrder(tx, orderId)
  const subscription = subscriptionId === null ? null : (await subscriptionById(tx, subscriptionId, { lock: true }))!
  const order = await findOrder(tx, orderId, { lock: true })
  return { order, subscription, checkout: await lockOpenCheckout(tx, orderId) }
}

export interface PaymentCard { brand: string, last4: string }

/** A payment as a gateway tells of it. */
export interface Told {
  /** The try that it is the outcome of, where one is kept already. */
  id?: string
  gateway: string
  /** What the gateway calls it; told twice it is the same. */
  reference: string | null
  /** The session by which it came. */
  checkoutId: string | null
  card: PaymentCard | null
  at: Date
}

const insertPayment = statement<{ id: string }>(`
  INSERT INTO payments (id, order_id, checkout_id, status, amount, currency, gateway, gateway_reference, card, failure_code, due_at, created_at, updated_at)
  VALUES ($1, $2, $3, $4::"PaymentStatus", $5, $6, $7, $8, $9, $10, $11, $12, $12)
  ON CONFLICT (gateway, gateway_reference) DO NOTHING RETURNING id`)
const changePayment = statement<{ id: string }>(`
  UPDATE payments SET status = $2::"PaymentStatus", failure_code = $3, due_at = $4, updated_at = $5
  WHERE id = $1 AND status IN ('requires_confirmation', 'processing') RETURNING id`)

type Outcome = { status: 'succeeded' | 'returning' | 'requires_confirmation' } | { status: 'failed', code: string } | { status: 'processing', dueAt: Date }

/** Keeps a try to pay, or the outcome of one. @returns its id, or null when it was told before. */
export async function keepPayment (tx: Db, order: OwnedOrder, told: Told, outcome: Outcome): Promise<string | null> {
  const code = 'code' in outcome ? outcome.code : null
  const dueAt = 'dueAt' in outcome ? outcome.dueAt : null
  const rows = told.id === undefined
    ? await tx.sql(insertPayment, [newIdAt('pay', told.at), order.id, told.checkoutId, outcome.status, order.total_amount, order.currency, told.gateway, told.reference, told.card, code, dueAt, told.at])
    : await tx.sql(changePayment, [told.id, outcome.status, code, dueAt, told.at])
  return rows[0]?.id ?? null
}

const pay = statement<{ id: string }>(`
  UPDATE orders SET status = 'paid', paid_at = $2, updated_at = greatest($2, updated_at + interval '1 millisecond') WHERE id = $1 AND status = 'pending' RETURNING id`)
const complete = statement<{ id: string }>("UPDATE checkouts SET status = 'complete' WHERE id = $1 AND status = 'open' RETURNING id")
const recover = statement<{ id: string }>(`
  UPDATE subscriptions SET status = 'active', tries = 0, card = coalesce($2, card), due_at = CASE WHEN $3 THEN period_end END WHERE id = $1 AND status = 'past_due' RETURNING id`)

/**
 * Money has come. It pays the order, where that is still to be paid, by the open session if there is one, and begins or goes on
 * with its subscription; otherwise it is given back. Told again it has no effect.
 * @param card what of it is kept for renewals.
 * @returns whether it paid the order.
 */
export async function settlePayment (tx: Db, services: SettleServices, { order, subscription, checkout }: Deal, told: Told, card: Card | null = null): Promise<boolean> {
  const { events, gateways } = services
  const late = order.status !== 'pending' || (told.checkoutId !== null && checkout?.id !== told.checkoutId)
  const id = await keepPayment(tx, order, told, { status: late ? 'returning' : 'succeeded' })
  if (id === null) return false
  if (late) {
    if (await gateways.of(told.gateway).giveBack(tx, { id, reference: told.reference }) === 'returned') await paymentReturned(tx, id, told.at)
    return false
  }
  if ((await tx.sql(pay, [order.id, told.at])).length !== 1) throw new Error(`${order.id} was not pending`)
  const userId = order.owner_id
  await events.emit(tx, 'order.paid', await findOrder(tx, order.id), { previous: order, userId })
  // The calendar may be faster than a customer who is at it.
  if (checkout !== null && told.checkoutId === null) await closeCheckout(tx, services, checkout, told.at)
  else if (checkout !== null) {
    if ((await tx.sql(complete, [checkout.id])).length !== 1) throw new Error(`${checkout.id} was not open`)
    await events.emit(tx, 'checkout.completed', shownCheckout((await checkoutById(tx, checkout.id))!), { previous: shownCheckout(checkout), userId })
  }
  if (subscription !== null) await goOn(tx, services, subscription, told.at, card)
  return true
}

/** Its first order is paid, or the one that was overdue. One that is paid in time is told of by who began its period. */
async function goOn (tx: Db, { events, gateways }: SettleServices, subscription: OwnedSubscription, at: Date, card: Card | null): Promise<void> {
  const { renews } = gateways.of(subscription.gateway)
  const changed = subscription.status === 'incomplete'
    ? await startSubscription(tx, subscription.id, at, { card, renews })
    : (await tx.sql(recover, [subscription.id, card, renews])).length === 1
  if (changed) await tellSubscription(tx, events, subscription)
}

/** A `subscription.updated`, with what changed since. */
export async function tellSubscription (tx: Db, events: Emitter, previous: OwnedSubscription): Promise<OwnedSubscription> {
  const now = (await subscriptionById(tx, previous.id))!
  await events.emit(tx, 'subscription.updated', shownSubscription(now), { previous: shownSubscription(previous), userId: now.owner_id })
  return now
}

const returned = statement("UPDATE payments SET status = 'returned', updated_at = $2 WHERE id = $1 AND status = 'returning'")

/** What came too late has been given back. */
export async function paymentReturned (tx: Db, id: string, at: Date): Promise<void> {
  await tx.sql(returned, [id, at])
}

const cancel = statement<{ id: string }>(`
  UPDATE orders SET status = 'canceled', updated_at = greatest($2, updated_at + interval '1 millisecond') WHERE id = $1 AND status = 'pending' RETURNING id`)
const expire = statement<{ id: string }>("UPDATE checkouts SET status = 'expired' WHERE id = $1 AND status = 'open' RETURNING id")
const giveUp = statement(`
  UPDATE payments SET status = 'failed', failure_code = 'expired', due_at = NULL, updated_at = $2 WHERE checkout_id = $1 AND status = 'requires_confirmation'`)

/** Cancels a pending order; its open session expires with it. Throws 409 when it is not pending. */
export async function cancelOrder (tx: Db, services: SettleServices, { order, checkout }: Deal, at: Date): Promise<OwnedOrder> {
  if ((await tx.sql(cancel, [order.id, at])).length !== 1) throw invalidState('order', order.status)
  const now = await findOrder(tx, order.id)
  await services.events.emit(tx, 'order.canceled', now, { previous: order, userId: order.owner_id })
  if (checkout !== null) await closeCheckout(tx, services, checkout, at)
  return now
}

async function closeCheckout (tx: Db, { events, gateways }: SettleServices, checkout: OwnedCheckout, at: Date): Promise<OwnedCheckout> {
  if ((await tx.sql(expire, [checkout.id])).length !== 1) throw invalidState('checkout session', checkout.status)
  await tx.sql(giveUp, [checkout.id, at])
  await gateways.of(checkout.gateway).close(tx, checkout)
  const now = (await checkoutById(tx, checkout.id))!
  await events.emit(tx, 'checkout.expired', shownCheckout(now), { previous: shownCheckout(checkout), userId: checkout.owner_id })
  return now
}

/** Expires an open session; the order that was made with it is cancelled, and its subscription. Throws 409 when it is not open. */
export async function expireCheckout (tx: Db, services: SettleServices, deal: Deal, id: string, at: Date): Promise<OwnedCheckout> {
  const { checkout, subscription } = deal
  if (checkout?.id !== id) throw invalidState('checkout session', (await checkoutById(tx, id))!.status)
  const now = await closeCheckout(tx, services, checkout, at)
  if (!checkout.owns_order) return now
  if (subscription !== null) await endSubscription(tx, services, subscription, at)
  await cancelOrder(tx, services, { ...deal, checkout: null }, at)
  return now
}

const end = statement<{ id: string }>(`
  UPDATE subscriptions SET status = 'canceled', ended_at = $2, canceled_at = coalesce(canceled_at, $2), due_at = NULL WHERE id = $1 AND status <> 'canceled' RETURNING id`)

/** Ends a subscription at once. Throws 409 when it has ended. An order of it that is not paid yet is the caller's to cancel. */
export async function endSubscription (tx: Db, { events, gateways }: SettleServices, subscription: OwnedSubscription, at: Date): Promise<OwnedSubscription> {
  if ((await tx.sql(end, [subscription.id, at])).length !== 1) throw invalidState('subscription', subscription.status)
  const now = (await subscriptionById(tx, subscription.id))!
  await gateways.of(subscription.gateway).follow(tx, now)
  await events.emit(tx, 'subscription.canceled', shownSubscription(now), { previous: shownSubscription(subscription), userId: subscription.owner_id })
  return now
}
