// State transitions of orders, checkout sessions and subscriptions when a payment succeeds, fails or expires.
// Payment notifications are idempotent: each transition is one conditional UPDATE with its event, in the
// caller's transaction. Lock order everywhere: subscription, order, checkout session.
import type { Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import { invalidState } from '../../infra/errors.ts'
import type { Emitter } from '../events/emit.ts'
import { newIdAt } from '../../infra/ids.ts'
import { findCheckout, lockOpenCheckout, toCheckout, type OwnedCheckout } from './checkouts.ts'
import type { PaymentServices } from './gateway.ts'
import { applyChange } from './apply-change.ts'
import { post, releaseHeld, subjectOf } from './ledger.ts'
import { findOrder, toOrder, type OwnedOrder } from './orders.ts'
import { storeCard, type NewCard } from './payment-methods.ts'
import { emitSubscriptionUpdated, owesPayment } from './subscription-events.ts'
import { startSubscription, toSubscription, type OwnedSubscription, type Period } from './subscriptions.ts'
import { countUsage } from './usage-billing.ts'

/** An order with its subscription and its open checkout session; all three rows are locked. */
export interface LockedOrder {
  order: OwnedOrder
  subscription: OwnedSubscription | null
  /** null when no session is open. */
  checkout: OwnedCheckout | null
}

/**
 * Locks an order, its subscription and its open session in three statements. Throws 404 for an unknown order.
 */
export async function lockOrder(tx: Transaction, orderId: string): Promise<LockedOrder> {
  const subscription = (await sql.lockSubscriptionOfOrder(tx, { order_id: orderId })) ?? null
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
  /** The id of a new attempt, if its gateway knows it. */
  newId?: string
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

type Outcome =
  | { status: 'succeeded' | 'returning' | 'requires_confirmation' }
  | { status: 'failed'; code: string }
  | { status: 'processing'; dueAt: Date | null }

/**
 * Inserts a payment attempt, or stores the outcome of an existing one.
 * @returns the id of the payment, or null when this outcome was recorded before.
 */
export async function recordPaymentAttempt(
  tx: Transaction,
  order: OwnedOrder,
  notification: PaymentNotification,
  outcome: Outcome,
): Promise<string | null> {
  const { id, at } = notification
  const { status } = outcome
  const code = 'code' in outcome ? outcome.code : null
  const dueAt = 'dueAt' in outcome ? outcome.dueAt : null
  const recorded =
    id === undefined
      ? await sql.insertPayment(tx, {
          id: notification.newId ?? newIdAt('pay', at),
          order_id: order.id,
          checkout_id: notification.checkoutId,
          status,
          amount: order.total_amount,
          currency: order.currency,
          gateway: notification.gateway,
          gateway_reference: notification.reference,
          card: notification.card,
          failure_code: code,
          due_at: dueAt,
          at,
        })
      : await sql.updatePayment(tx, {
          id,
          status,
          gateway_reference: notification.reference,
          failure_code: code,
          due_at: dueAt,
          at,
        })
  return recorded?.id ?? null
}

/**
 * Applies a successful payment to a locked order. A pending order becomes paid, its session completes and its
 * subscription starts or recovers. A payment for any other order is late and is refunded in full. Idempotent.
 * @param card the card to store for renewals.
 * @returns true if this payment paid the order.
 */
export async function applyPayment(
  tx: Transaction,
  services: PaymentServices,
  { order, subscription, checkout }: LockedOrder,
  notification: PaymentNotification,
  card: NewCard | null = null,
): Promise<boolean> {
  const { events, gateways, receiptMails } = services
  const { checkoutId, reference, at } = notification
  const late = order.status !== 'pending' || (checkoutId !== null && checkout?.id !== checkoutId)
  const id = await recordPaymentAttempt(tx, order, notification, {
    status: late ? 'returning' : 'succeeded',
  })
  if (id === null) return false
  if (late) {
    post(tx, subjectOf(order, at), [['gateway', 'late', order.total_amount]])
    const gateway = gateways.of(notification.gateway)
    if ((await gateway.refundLatePayment(tx, { id, reference })) === 'returned')
      await markPaymentReturned(tx, id, at)
    return false
  }
  const userId = order.owner_id
  const paid = await sql.setOrderPaid(tx, { id: order.id, at })
  post(tx, subjectOf(order, at), [['gateway', 'revenue', order.total_amount]])
  await releaseHeld(tx, order, 'revenue', at)
  await events.emit(tx, 'order.paid', paid, { previous: order, userId })
  await receiptMails.paid(tx, paid)
  // A renewal can pay the order while the customer still has a session open for it.
  if (checkout !== null && checkoutId === null) await closeCheckout(tx, services, checkout, at)
  else if (checkout !== null) {
    const completed = await sql.setCheckoutComplete(tx, { id: checkout.id })
    await events.emit(tx, 'checkout.completed', toCheckout(completed), {
      previous: toCheckout(checkout),
      userId,
    })
  }
  if (subscription?.scheduled_change?.order_id === order.id)
    await applyChange(tx, services, subscription, { at, order })
  else if (subscription !== null) await activateOrRecover(tx, services, subscription, notification)
  if (subscription !== null && card !== null) await storeCard(tx, events, order.customer_id!, card)
  return true
}

/** Pays a locked pending order with the total 0, and completes its session. Does nothing for other orders. */
export async function payIfFree(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder,
  at: Date,
): Promise<boolean> {
  if (locked.order.total_amount !== 0) return false
  const { name: gateway } = services.gateways.forTotal(0)
  const checkoutId = locked.checkout?.id ?? null
  return await applyPayment(tx, services, locked, { gateway, reference: null, checkoutId, card: null, at })
}

/**
 * Starts a subscription whose first order was paid, or reactivates one that owes a payment. An on-time
 * renewal changes nothing and emits no event here; `renewals.ts` emits it when the period starts.
 */
async function activateOrRecover(
  tx: Transaction,
  { events }: PaymentServices,
  subscription: OwnedSubscription,
  { at, period }: PaymentNotification,
): Promise<void> {
  const changed =
    subscription.status === 'incomplete'
      ? await startSubscription(tx, subscription.id, { at, period })
      : owesPayment(subscription)
        ? await sql.setSubscriptionActive(tx, { id: subscription.id, at })
        : undefined
  if (changed === undefined) return
  if (subscription.status === 'incomplete')
    await countUsage(tx, changed, new Date(changed.current_period_start!))
  await emitSubscriptionUpdated(tx, events, subscription, changed)
}

/**
 * Records a failed payment of an order. Emits the event if the order is pending and the failure is new.
 * @returns whether it emitted the event.
 */
export async function failPayment(
  tx: Transaction,
  { events }: PaymentServices,
  order: OwnedOrder,
  notification: PaymentNotification,
  code: string,
): Promise<boolean> {
  const recorded = await recordPaymentAttempt(tx, order, notification, { status: 'failed', code })
  const failed = recorded !== null && order.status === 'pending'
  if (failed) await emitPaymentFailed(tx, events, order)
  return failed
}

export async function emitPaymentFailed(tx: Transaction, events: Emitter, order: OwnedOrder): Promise<void> {
  await events.emit(tx, 'order.payment_failed', toOrder(order), { userId: order.owner_id })
}

/** Marks a late payment as refunded in full. */
export async function markPaymentReturned(tx: Transaction, id: string, at: Date): Promise<void> {
  const returned = await sql.setPaymentReturned(tx, { id, at })
  if (returned !== undefined)
    post(tx, subjectOf({ ...returned, id: returned.order_id }, at), [['late', 'gateway', returned.amount]])
}

/** Cancels a pending order and expires its open session. Throws 409 when the order is not pending. */
export async function cancelOrder(
  tx: Transaction,
  services: PaymentServices,
  { order, checkout }: LockedOrder,
  at: Date,
): Promise<OwnedOrder> {
  const canceled = await sql.setOrderCanceled(tx, { id: order.id, at })
  if (canceled === undefined) throw invalidState('order', order.status)
  await releaseHeld(tx, canceled, 'balance', at)
  await services.events.emit(tx, 'order.canceled', canceled, { previous: order, userId: order.owner_id })
  if (checkout !== null) await closeCheckout(tx, services, checkout, at)
  return canceled
}

async function closeCheckout(
  tx: Transaction,
  { events, gateways }: PaymentServices,
  checkout: OwnedCheckout,
  at: Date,
): Promise<OwnedCheckout> {
  const expired = await sql.setCheckoutExpired(tx, { id: checkout.id })
  await sql.failUnconfirmedPayments(tx, { checkout_id: checkout.id, at })
  await gateways.of(checkout.gateway).closeCheckout(tx, checkout)
  await events.emit(tx, 'checkout.expired', toCheckout(expired), {
    previous: toCheckout(checkout),
    userId: checkout.owner_id,
  })
  return expired
}

/**
 * Expires an open session. If the session created its order, the order and its subscription are canceled too.
 * Returns an expired session as it is. Throws 409 when the session is complete.
 */
export async function expireCheckout(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder,
  id: string,
  at: Date,
): Promise<OwnedCheckout> {
  const { checkout, subscription } = locked
  if (checkout?.id !== id) {
    const current = (await findCheckout(tx, id))!
    if (current.status === 'expired') return current
    throw invalidState('checkout session', current.status)
  }
  const expired = await closeCheckout(tx, services, checkout, at)
  if (!checkout.owns_order) return expired
  if (subscription !== null) await cancelSubscriptionNow(tx, services, subscription, at)
  await cancelOrder(tx, services, { ...locked, checkout: null }, at)
  return expired
}

/**
 * Cancels a subscription immediately. The caller cancels its unpaid orders. Throws 409 when it is already
 * canceled.
 * @param options.canceledByGateway true if the gateway already canceled it, so that no sync is needed.
 */
export async function cancelSubscriptionNow(
  tx: Transaction,
  { events, gateways }: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
  { canceledByGateway = false } = {},
): Promise<OwnedSubscription> {
  const canceled = await sql.setSubscriptionCanceled(tx, { id: subscription.id, at })
  if (canceled === undefined) throw invalidState('subscription', subscription.status)
  if (!canceledByGateway) await gateways.of(subscription.gateway).syncCancellation(tx, canceled)
  await events.emit(tx, 'subscription.canceled', toSubscription(canceled), {
    previous: toSubscription(subscription),
    userId: subscription.owner_id,
  })
  return canceled
}

/**
 * Cancels a subscription immediately, with its latest order if that is pending and a change that waits for
 * its payment. Throws 409 when already canceled.
 */
export async function cancelSubscriptionAndOrder(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<OwnedSubscription> {
  const locked = await lockOrder(tx, subscription.latest_order_id)
  const changeOrder = subscription.scheduled_change?.order_id ?? null
  const change = changeOrder === null ? null : await lockOrder(tx, changeOrder)
  const canceled = await cancelSubscriptionNow(tx, services, subscription, at)
  for (const pending of [locked, change])
    if (pending?.order.status === 'pending') await cancelOrder(tx, services, pending, at)
  return canceled
}
