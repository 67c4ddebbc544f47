// What becomes of an order, its session and its subscription when money comes, or does not. Whoever tells of it, a page, a gateway
// or the calendar, it counts once: every change of a state is one conditional UPDATE with its event, in the caller's transaction.
// Locks are taken in one order everywhere: subscription, order, session.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { invalidState } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { newIdAt } from '../../infra/ids.ts'
import {
  checkoutById,
  checkoutColumns,
  lockOpenCheckout,
  shownCheckout,
  type OwnedCheckout,
} from './checkouts.ts'
import type { SettleServices } from './gateway.ts'
import { findOrder, orderColumns, type OwnedOrder } from './orders.ts'
import {
  shownSubscription,
  startSubscription,
  subscriptionById,
  subscriptionColumns,
  type Card,
  type OwnedSubscription,
  type Period,
} from './subscriptions.ts'

/** Everything that hangs on an order, held against other writers. */
export interface Deal {
  order: OwnedOrder
  subscription: OwnedSubscription | null
  /** Its session, while one is open. */
  checkout: OwnedCheckout | null
}

// Which subscription an order is of never changes.
const lockSubscriptionOf = statement<OwnedSubscription>(`
  SELECT ${subscriptionColumns} FROM subscriptions s WHERE s.id = (SELECT subscription_id FROM orders WHERE id = $1) FOR NO KEY UPDATE OF s`)

/** Throws 404 when the order is not there. Three statements. */
export async function lockDeal(tx: Db, orderId: string): Promise<Deal> {
  const [subscription = null] = await tx.sql(lockSubscriptionOf, [orderId])
  const order = await findOrder(tx, orderId, { lock: true })
  return { order, subscription, checkout: await lockOpenCheckout(tx, orderId) }
}

export interface PaymentCard {
  brand: string
  last4: string
}

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
  /** The period of a subscription that it begins, where the gateway says which. */
  period?: Period
}

const insertPayment = statement<{ id: string }>(`
  INSERT INTO payments (id, order_id, checkout_id, status, amount, currency, gateway, gateway_reference, card, failure_code, due_at, created_at, updated_at)
  VALUES ($1, $2, $3, $4::"PaymentStatus", $5, $6, $7, $8, $9, $10, $11, $12, $12)
  ON CONFLICT (gateway, gateway_reference) DO NOTHING RETURNING id`)
const changePayment = statement<{ id: string }>(`
  UPDATE payments SET status = $2::"PaymentStatus", failure_code = $3, due_at = $4, updated_at = $5
  WHERE id = $1 AND status IN ('requires_confirmation', 'processing') RETURNING id`)

type Outcome =
  | { status: 'succeeded' | 'returning' | 'requires_confirmation' }
  | { status: 'failed'; code: string }
  | { status: 'processing'; dueAt: Date | null }

/** Keeps a try to pay, or the outcome of one. @returns its id, or null when it was told before. */
export async function keepPayment(
  tx: Db,
  order: OwnedOrder,
  told: Told,
  outcome: Outcome,
): Promise<string | null> {
  const code = 'code' in outcome ? outcome.code : null
  const dueAt = 'dueAt' in outcome ? outcome.dueAt : null
  const rows =
    told.id === undefined
      ? await tx.sql(insertPayment, [
          newIdAt('pay', told.at),
          order.id,
          told.checkoutId,
          outcome.status,
          order.total_amount,
          order.currency,
          told.gateway,
          told.reference,
          told.card,
          code,
          dueAt,
          told.at,
        ])
      : await tx.sql(changePayment, [told.id, outcome.status, code, dueAt, told.at])
  return rows[0]?.id ?? null
}

const pay = statement<OwnedOrder>(`
  UPDATE orders o SET status = 'paid', paid_at = $2, updated_at = greatest($2, updated_at + interval '1 millisecond')
  WHERE id = $1 AND status = 'pending' RETURNING ${orderColumns()}`)
const complete = statement<OwnedCheckout>(
  `UPDATE checkouts c SET status = 'complete' WHERE id = $1 AND status = 'open' RETURNING ${checkoutColumns}`,
)
const recover = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET status = 'active', tries = 0, card = coalesce($2, card), due_at = CASE WHEN $3 THEN period_end END
  WHERE id = $1 AND status = 'past_due' RETURNING ${subscriptionColumns}`)

/**
 * Money has come. It pays the order, where that is still to be paid, by the open session if there is one, and begins or goes on
 * with its subscription; otherwise it is given back. Told again it has no effect.
 * @param card what of it is kept for renewals.
 * @returns whether it paid the order.
 */
export async function settlePayment(
  tx: Db,
  services: SettleServices,
  { order, subscription, checkout }: Deal,
  told: Told,
  card: Card | null = null,
): Promise<boolean> {
  const { events, gateways } = services
  const late = order.status !== 'pending' || (told.checkoutId !== null && checkout?.id !== told.checkoutId)
  const id = await keepPayment(tx, order, told, { status: late ? 'returning' : 'succeeded' })
  if (id === null) return false
  if (late) {
    if ((await gateways.of(told.gateway).giveBack(tx, { id, reference: told.reference })) === 'returned')
      await paymentReturned(tx, id, told.at)
    return false
  }
  const userId = order.owner_id
  const [paid] = await tx.sql(pay, [order.id, told.at])
  await events.emit(tx, 'order.paid', paid, { previous: order, userId })
  // The calendar may be faster than a customer who is at it.
  if (checkout !== null && told.checkoutId === null) await closeCheckout(tx, services, checkout, told.at)
  else if (checkout !== null) {
    const [completed] = await tx.sql(complete, [checkout.id])
    await events.emit(tx, 'checkout.completed', shownCheckout(completed), {
      previous: shownCheckout(checkout),
      userId,
    })
  }
  if (subscription !== null) await goOn(tx, services, subscription, told, card)
  return true
}

/** Its first order is paid, or the one that was overdue. One that is paid in time is told of by who began its period. */
async function goOn(
  tx: Db,
  { events, gateways }: SettleServices,
  subscription: OwnedSubscription,
  { at, period }: Told,
  card: Card | null,
): Promise<void> {
  const { renews } = gateways.of(subscription.gateway)
  const [changed] =
    subscription.status === 'incomplete'
      ? [await startSubscription(tx, subscription.id, at, { card, renews, period })]
      : subscription.status === 'past_due'
        ? await tx.sql(recover, [subscription.id, card, renews])
        : []
  if (changed !== undefined) await tellSubscription(tx, events, subscription, changed)
}

/** A `subscription.updated`, with what it was before. What it is now is read where it is not given. */
export async function tellSubscription(
  tx: Db,
  events: Emitter,
  previous: OwnedSubscription,
  changed?: OwnedSubscription,
): Promise<OwnedSubscription> {
  const now = changed ?? (await subscriptionById(tx, previous.id))!
  await events.emit(tx, 'subscription.updated', shownSubscription(now), {
    previous: shownSubscription(previous),
    userId: now.owner_id,
  })
  return now
}

const returned = statement(
  "UPDATE payments SET status = 'returned', updated_at = $2 WHERE id = $1 AND status = 'returning'",
)

/** What came too late has been given back. */
export async function paymentReturned(tx: Db, id: string, at: Date): Promise<void> {
  await tx.sql(returned, [id, at])
}

const cancel = statement<OwnedOrder>(`
  UPDATE orders o SET status = 'canceled', updated_at = greatest($2, updated_at + interval '1 millisecond')
  WHERE id = $1 AND status = 'pending' RETURNING ${orderColumns()}`)
const expire = statement<OwnedCheckout>(
  `UPDATE checkouts c SET status = 'expired' WHERE id = $1 AND status = 'open' RETURNING ${checkoutColumns}`,
)
const giveUp = statement(`
  UPDATE payments SET status = 'failed', failure_code = 'expired', due_at = NULL, updated_at = $2 WHERE checkout_id = $1 AND status = 'requires_confirmation'`)

/** Cancels a pending order; its open session expires with it. Throws 409 when it is not pending. */
export async function cancelOrder(
  tx: Db,
  services: SettleServices,
  { order, checkout }: Deal,
  at: Date,
): Promise<OwnedOrder> {
  const [canceled] = await tx.sql(cancel, [order.id, at])
  if (canceled === undefined) throw invalidState('order', order.status)
  await services.events.emit(tx, 'order.canceled', canceled, { previous: order, userId: order.owner_id })
  if (checkout !== null) await closeCheckout(tx, services, checkout, at)
  return canceled
}

async function closeCheckout(
  tx: Db,
  { events, gateways }: SettleServices,
  checkout: OwnedCheckout,
  at: Date,
): Promise<OwnedCheckout> {
  const [expired] = await tx.sql(expire, [checkout.id])
  await tx.sql(giveUp, [checkout.id, at])
  await gateways.of(checkout.gateway).close(tx, checkout)
  await events.emit(tx, 'checkout.expired', shownCheckout(expired), {
    previous: shownCheckout(checkout),
    userId: checkout.owner_id,
  })
  return expired
}

/** Expires an open session; the order that was made with it is cancelled, and its subscription. Throws 409 when it is not open. */
export async function expireCheckout(
  tx: Db,
  services: SettleServices,
  deal: Deal,
  id: string,
  at: Date,
): Promise<OwnedCheckout> {
  const { checkout, subscription } = deal
  if (checkout?.id !== id) throw invalidState('checkout session', (await checkoutById(tx, id))!.status)
  const expired = await closeCheckout(tx, services, checkout, at)
  if (!checkout.owns_order) return expired
  if (subscription !== null) await endSubscription(tx, services, subscription, at)
  await cancelOrder(tx, services, { ...deal, checkout: null }, at)
  return expired
}

const end = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET status = 'canceled', ended_at = $2, canceled_at = coalesce(canceled_at, $2), due_at = NULL
  WHERE id = $1 AND status <> 'canceled' RETURNING ${subscriptionColumns}`)

/**
 * Ends a subscription at once. Throws 409 when it has ended. An order of it that is not paid yet is the caller's to cancel.
 * @param told whether it is the gateway that has ended it, and need not hear of it.
 */
export async function endSubscription(
  tx: Db,
  { events, gateways }: SettleServices,
  subscription: OwnedSubscription,
  at: Date,
  { told = false } = {},
): Promise<OwnedSubscription> {
  const [ended] = await tx.sql(end, [subscription.id, at])
  if (ended === undefined) throw invalidState('subscription', subscription.status)
  if (!told) await gateways.of(subscription.gateway).follow(tx, ended)
  await events.emit(tx, 'subscription.canceled', shownSubscription(ended), {
    previous: shownSubscription(subscription),
    userId: subscription.owner_id,
  })
  return ended
}

/** The same, and its latest order is cancelled unless it is paid. */
export async function endWithOrder(
  tx: Db,
  services: SettleServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<OwnedSubscription> {
  const deal = await lockDeal(tx, subscription.latest_order_id)
  const ended = await endSubscription(tx, services, subscription, at)
  if (deal.order.status === 'pending') await cancelOrder(tx, services, deal, at)
  return ended
}
