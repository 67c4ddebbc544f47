// State transitions of orders, checkout sessions and subscriptions when a payment succeeds, fails or expires.
// Payment notifications are idempotent: each transition is one conditional UPDATE with its event, in the
// caller's transaction. Lock order everywhere: subscription, order, checkout session.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { invalidState } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { newIdAt } from '../../infra/ids.ts'
import {
  checkoutById,
  checkoutColumns,
  lockOpenCheckout,
  toCheckout,
  type OwnedCheckout,
} from './checkouts.ts'
import type { PaymentServices } from './gateway.ts'
import { findOrder, orderColumns, type OwnedOrder } from './orders.ts'
import {
  startSubscription,
  subscriptionById,
  subscriptionColumns,
  toSubscription,
  type OwnedSubscription,
  type Period,
  type SandboxCard,
} from './subscriptions.ts'

/** An order with its subscription and its open checkout session; all three rows are locked. */
export interface LockedOrder {
  order: OwnedOrder
  subscription: OwnedSubscription | null
  /** null when no session is open. */
  checkout: OwnedCheckout | null
}

// Reads the subscription's id without a lock: an order never moves to another subscription.
const lockSubscriptionOfOrder = statement<OwnedSubscription>(`
  SELECT ${subscriptionColumns} FROM subscriptions s
  WHERE s.id = (SELECT subscription_id FROM orders WHERE id = $1) FOR NO KEY UPDATE OF s`)

/**
 * Locks an order, its subscription and its open session in three statements. Throws 404 for an unknown order.
 */
export async function lockOrder(tx: Db, orderId: string): Promise<LockedOrder> {
  const [subscription = null] = await tx.sql(lockSubscriptionOfOrder, [orderId])
  const order = await findOrder(tx, orderId, { lock: true })
  return { order, subscription, checkout: await lockOpenCheckout(tx, orderId) }
}

export interface PaymentCard {
  brand: string
  last4: string
}

/** A gateway's notification about a payment. */
export interface PaymentNotification {
  /** The id of the stored payment attempt to update; absent for a new attempt. */
  id?: string
  gateway: string
  /** The gateway's id of the payment. A repeated notification carries the same reference. */
  reference: string | null
  /** The checkout session that was paid; null for a renewal. */
  checkoutId: string | null
  card: PaymentCard | null
  at: Date
  /** The first period of the subscription, if the gateway sets it. */
  period?: Period
}

const insertPayment = statement<{ id: string }>(`
  INSERT INTO payments (id, order_id, checkout_id, status, amount, currency, gateway, gateway_reference, card,
    failure_code, due_at, created_at, updated_at)
  VALUES ($1, $2, $3, $4::"PaymentStatus", $5, $6, $7, $8, $9, $10, $11, $12, $12)
  ON CONFLICT (gateway, gateway_reference) DO NOTHING RETURNING id`)
const updatePayment = statement<{ id: string }>(`
  UPDATE payments SET status = $2::"PaymentStatus", failure_code = $3, due_at = $4, updated_at = $5
  WHERE id = $1 AND status IN ('requires_confirmation', 'processing') RETURNING id`)

type Outcome =
  | { status: 'succeeded' | 'returning' | 'requires_confirmation' }
  | { status: 'failed'; code: string }
  | { status: 'processing'; dueAt: Date | null }

/**
 * Inserts a payment attempt, or stores the outcome of an existing one.
 * @returns the id of the payment, or null when this outcome was recorded before.
 */
export async function recordPaymentAttempt(
  tx: Db,
  order: OwnedOrder,
  notification: PaymentNotification,
  outcome: Outcome,
): Promise<string | null> {
  const { id, at } = notification
  const code = 'code' in outcome ? outcome.code : null
  const dueAt = 'dueAt' in outcome ? outcome.dueAt : null
  const rows =
    id === undefined
      ? await tx.sql(insertPayment, [
          newIdAt('pay', at),
          order.id,
          notification.checkoutId,
          outcome.status,
          order.total_amount,
          order.currency,
          notification.gateway,
          notification.reference,
          notification.card,
          code,
          dueAt,
          at,
        ])
      : await tx.sql(updatePayment, [id, outcome.status, code, dueAt, at])
  return rows[0]?.id ?? null
}

const setOrderPaid = statement<OwnedOrder>(`
  UPDATE orders o SET status = 'paid', paid_at = $2,
    updated_at = greatest($2, updated_at + interval '1 millisecond')
  WHERE id = $1 AND status = 'pending' RETURNING ${orderColumns()}`)
const setCheckoutComplete = statement<OwnedCheckout>(`
  UPDATE checkouts c SET status = 'complete' WHERE id = $1 AND status = 'open' RETURNING ${checkoutColumns}`)
const setSubscriptionActive = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET status = 'active', tries = 0, card = coalesce($2, card),
    due_at = CASE WHEN $3 THEN period_end END
  WHERE id = $1 AND status = 'past_due' RETURNING ${subscriptionColumns}`)

/**
 * Applies a successful payment to a locked order. A pending order becomes paid, its session completes and its
 * subscription starts or recovers. A payment for any other order is late and is refunded in full. Idempotent.
 * @param card the card to store for renewals.
 * @returns true if this payment paid the order.
 */
export async function applyPayment(
  tx: Db,
  services: PaymentServices,
  { order, subscription, checkout }: LockedOrder,
  notification: PaymentNotification,
  card: SandboxCard | null = null,
): Promise<boolean> {
  const { events, gateways } = services
  const { checkoutId, reference, at } = notification
  const late = order.status !== 'pending' || (checkoutId !== null && checkout?.id !== checkoutId)
  const id = await recordPaymentAttempt(tx, order, notification, {
    status: late ? 'returning' : 'succeeded',
  })
  if (id === null) return false
  if (late) {
    const gateway = gateways.of(notification.gateway)
    if ((await gateway.refundLatePayment(tx, { id, reference })) === 'returned')
      await markPaymentReturned(tx, id, at)
    return false
  }
  const userId = order.owner_id
  const [paid] = await tx.sql(setOrderPaid, [order.id, at])
  await events.emit(tx, 'order.paid', paid, { previous: order, userId })
  // A renewal can pay the order while the customer still has a session open for it.
  if (checkout !== null && checkoutId === null) await closeCheckout(tx, services, checkout, at)
  else if (checkout !== null) {
    const [completed] = await tx.sql(setCheckoutComplete, [checkout.id])
    await events.emit(tx, 'checkout.completed', toCheckout(completed), {
      previous: toCheckout(checkout),
      userId,
    })
  }
  if (subscription !== null) await activateOrRecover(tx, services, subscription, notification, card)
  return true
}

/**
 * Starts a subscription whose first order was paid, or reactivates a past-due one. An on-time renewal changes
 * nothing and emits no event here; `renewals.ts` emits it when the period starts.
 */
async function activateOrRecover(
  tx: Db,
  { events, gateways }: PaymentServices,
  subscription: OwnedSubscription,
  { at, period }: PaymentNotification,
  card: SandboxCard | null,
): Promise<void> {
  const { renews } = gateways.of(subscription.gateway)
  const [changed] =
    subscription.status === 'incomplete'
      ? [await startSubscription(tx, subscription.id, at, { card, renews, period })]
      : subscription.status === 'past_due'
        ? await tx.sql(setSubscriptionActive, [subscription.id, card, renews])
        : []
  if (changed !== undefined) await emitSubscriptionUpdated(tx, events, subscription, changed)
}

/**
 * Emits `subscription.updated`. Reads the current state if `changed` is absent.
 * @returns the current state.
 */
export async function emitSubscriptionUpdated(
  tx: Db,
  events: Emitter,
  previous: OwnedSubscription,
  changed?: OwnedSubscription,
): Promise<OwnedSubscription> {
  const current = changed ?? (await subscriptionById(tx, previous.id))!
  await events.emit(tx, 'subscription.updated', toSubscription(current), {
    previous: toSubscription(previous),
    userId: current.owner_id,
  })
  return current
}

const setPaymentReturned = statement(
  "UPDATE payments SET status = 'returned', updated_at = $2 WHERE id = $1 AND status = 'returning'",
)

/** Marks a late payment as refunded in full. */
export async function markPaymentReturned(tx: Db, id: string, at: Date): Promise<void> {
  await tx.sql(setPaymentReturned, [id, at])
}

const setOrderCanceled = statement<OwnedOrder>(`
  UPDATE orders o SET status = 'canceled', updated_at = greatest($2, updated_at + interval '1 millisecond')
  WHERE id = $1 AND status = 'pending' RETURNING ${orderColumns()}`)
const setCheckoutExpired = statement<OwnedCheckout>(`
  UPDATE checkouts c SET status = 'expired' WHERE id = $1 AND status = 'open' RETURNING ${checkoutColumns}`)
const failUnconfirmedPayments = statement(`
  UPDATE payments SET status = 'failed', failure_code = 'expired', due_at = NULL, updated_at = $2
  WHERE checkout_id = $1 AND status = 'requires_confirmation'`)

/** Cancels a pending order and expires its open session. Throws 409 when the order is not pending. */
export async function cancelOrder(
  tx: Db,
  services: PaymentServices,
  { order, checkout }: LockedOrder,
  at: Date,
): Promise<OwnedOrder> {
  const [canceled] = await tx.sql(setOrderCanceled, [order.id, at])
  if (canceled === undefined) throw invalidState('order', order.status)
  await services.events.emit(tx, 'order.canceled', canceled, { previous: order, userId: order.owner_id })
  if (checkout !== null) await closeCheckout(tx, services, checkout, at)
  return canceled
}

async function closeCheckout(
  tx: Db,
  { events, gateways }: PaymentServices,
  checkout: OwnedCheckout,
  at: Date,
): Promise<OwnedCheckout> {
  const [expired] = await tx.sql(setCheckoutExpired, [checkout.id])
  await tx.sql(failUnconfirmedPayments, [checkout.id, at])
  await gateways.of(checkout.gateway).closeCheckout(tx, checkout)
  await events.emit(tx, 'checkout.expired', toCheckout(expired), {
    previous: toCheckout(checkout),
    userId: checkout.owner_id,
  })
  return expired
}

/**
 * Expires an open session. If the session created its order, the order and its subscription are canceled too.
 * Throws 409 when the session is not open.
 */
export async function expireCheckout(
  tx: Db,
  services: PaymentServices,
  locked: LockedOrder,
  id: string,
  at: Date,
): Promise<OwnedCheckout> {
  const { checkout, subscription } = locked
  if (checkout?.id !== id) throw invalidState('checkout session', (await checkoutById(tx, id))!.status)
  const expired = await closeCheckout(tx, services, checkout, at)
  if (!checkout.owns_order) return expired
  if (subscription !== null) await cancelSubscriptionNow(tx, services, subscription, at)
  await cancelOrder(tx, services, { ...locked, checkout: null }, at)
  return expired
}

const setSubscriptionCanceled = statement<OwnedSubscription>(`
  UPDATE subscriptions s SET status = 'canceled', ended_at = $2, canceled_at = coalesce(canceled_at, $2),
    due_at = NULL
  WHERE id = $1 AND status <> 'canceled' RETURNING ${subscriptionColumns}`)

/**
 * Cancels a subscription immediately. The caller cancels its unpaid orders. Throws 409 when it is already
 * canceled.
 * @param options.canceledByGateway true if the gateway already canceled it, so that no sync is needed.
 */
export async function cancelSubscriptionNow(
  tx: Db,
  { events, gateways }: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
  { canceledByGateway = false } = {},
): Promise<OwnedSubscription> {
  const [canceled] = await tx.sql(setSubscriptionCanceled, [subscription.id, at])
  if (canceled === undefined) throw invalidState('subscription', subscription.status)
  if (!canceledByGateway) await gateways.of(subscription.gateway).syncCancellation(tx, canceled)
  await events.emit(tx, 'subscription.canceled', toSubscription(canceled), {
    previous: toSubscription(subscription),
    userId: subscription.owner_id,
  })
  return canceled
}

/**
 * Cancels a subscription immediately, and its latest order if that is pending. Throws 409 when already
 * canceled.
 */
export async function cancelSubscriptionAndOrder(
  tx: Db,
  services: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<OwnedSubscription> {
  const locked = await lockOrder(tx, subscription.latest_order_id)
  const canceled = await cancelSubscriptionNow(tx, services, subscription, at)
  if (locked.order.status === 'pending') await cancelOrder(tx, services, locked, at)
  return canceled
}
