// Orders of subscriptions: what the credit of the customer pays, and the charge of the stored card. A gateway
// charges at once, or reports the outcome later.
import * as sql from '../../generated/sql/payments.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { conflict } from '../../infra/errors.ts'
import { newIdAt } from '../../infra/ids.ts'
import type { PaymentServices } from './gateway.ts'
import { creditFor, post, subjectOf } from './ledger.ts'
import { insertOrder, totalOf, type NewOrder, type OrderLine, type OwnedOrder } from './orders.ts'
import { isSellable } from './sales.ts'
import { applyPayment, failPayment, payIfFree, recordPaymentAttempt, type LockedOrder } from './settle.ts'
import type { OwnedSubscription } from './subscriptions.ts'

interface SubscriptionOrder extends Pick<NewOrder, 'metadata'> {
  lines: OrderLine[]
  currency: string
  /** The number of the period; null, the default, for the order of a change. */
  period?: number | null
  /** The credit for unused time, which the payment of the order gives. */
  unused?: number
  at: Date
}

/**
 * Inserts an order of a subscription with its event. The credit for unused time pays first, and then that of
 * the customer, which is held for the order.
 */
export async function insertCreditedOrder(
  tx: Transaction,
  { events, gateways }: PaymentServices,
  subscription: OwnedSubscription,
  { lines, currency, period = null, metadata, unused = 0, at }: SubscriptionOrder,
): Promise<OwnedOrder> {
  const { id, project_id: projectId, owner_id: ownerId, customer_id: customerId } = subscription
  const total = totalOf(lines)
  const spent = Math.min(unused, total)
  const available = spent + (await creditFor(tx, { customerId, currency }, total - spent))
  const credit = usableCredit(total, available, gateways.current.minimumOf(currency))
  const order = await insertOrder(
    tx,
    { lines, currency, total, now: at },
    { projectId, ownerId, metadata, subscription: { id, period }, credit },
  )
  post(tx, subjectOf(order, at), [['balance', 'held', Math.max(0, credit - spent)]])
  await events.emit(tx, 'order.created', order, { userId: ownerId })
  return order
}

/** The part of a credit that pays for an order: it leaves nothing, or what the gateway charges at least. */
export function usableCredit(total: number, available: number, minimum: number): number {
  return available >= total ? total : Math.min(available, Math.max(0, total - minimum))
}

/**
 * Charges the card of a customer for a locked pending order of a subscription, unless its total is 0. With
 * `pending`, `settleCharge` follows.
 * @throws if the order is not payable: the transaction must not repeat the charge.
 */
export async function chargeOrder(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder,
  { gateway: name, at }: { gateway: string; at: Date },
): Promise<'paid' | 'pending' | 'declined' | 'no card'> {
  const { order, subscription } = locked
  if (await payIfFree(tx, services, locked, at)) return 'paid'
  // A free subscription may owe what it cost before.
  const { total_amount: total } = order
  const charging = services.gateways.forChange(name, { total, hasUsage: false })
  const { name: gateway } = charging
  const { id: subscriptionId, customer_id: customerId, seller_organization_id: seller } = subscription!
  if (gateway !== name && !isSellable(services.gateways, seller ?? null, charging)) return 'no card'
  const card = await sql.findChargedCard(tx, {
    customer_id: customerId,
    subscription_id: subscriptionId,
    gateway,
  })
  if (card === undefined) return 'no card'
  const { brand, last4 } = card
  const newId = newIdAt('pay', at)
  const notification = { newId, gateway, reference: null, checkoutId: null, card: { brand, last4 }, at }
  const outcome = await charging.charge(tx, { id: newId }, card)
  if (outcome === 'pending') {
    await recordPaymentAttempt(tx, order, notification, { status: 'processing', dueAt: null })
    return 'pending'
  }
  if (outcome !== 'succeeded') {
    await failPayment(tx, services, order, notification, outcome.failed)
    return 'declined'
  }
  // Roll back: otherwise the subscription would stay due and be charged and refunded again and again.
  if (!(await applyPayment(tx, services, locked, notification)))
    throw new Error(
      `Cannot charge the order ${order.id} of the subscription ${subscriptionId}: it is ${order.status}.`,
    )
  return 'paid'
}

/** Throws 409 while the charge of an order has no outcome. */
export async function requireNoCharge(db: Db, orderId: string): Promise<void> {
  if (await isBeingCharged(db, orderId)) throw paymentInProgress()
}

/** Whether the charge of an order has no outcome yet. */
export async function isBeingCharged(db: Db, orderId: string): Promise<boolean> {
  return (await sql.findChargeInProgress(db, { order_id: orderId })) !== undefined
}

export function paymentInProgress(): Error {
  return conflict(
    'payment_in_progress',
    'The stored card is being charged. Try again when the payment has succeeded or failed.',
  )
}
