// Orders of subscriptions: what the credit of the customer pays, and the charge of the stored card.
import type { Transaction } from '../../infra/database/database.ts'
import type { PaymentServices } from './gateway.ts'
import { creditFor, post, subjectOf } from './ledger.ts'
import { insertOrder, totalOf, type NewOrder, type OrderLine, type OwnedOrder } from './orders.ts'
import { applyPayment, failPayment, payIfFree, type LockedOrder } from './settle.ts'
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
  { events }: PaymentServices,
  subscription: OwnedSubscription,
  { lines, currency, period = null, metadata, unused = 0, at }: SubscriptionOrder,
): Promise<OwnedOrder> {
  const { id, project_id: projectId, owner_id: ownerId, customer_id: customerId } = subscription
  const total = totalOf(lines)
  const spent = Math.min(unused, total)
  const held = await creditFor(tx, { customerId, currency }, total - spent)
  const order = await insertOrder(
    tx,
    { lines, currency, total, now: at },
    { projectId, ownerId, metadata, subscription: { id, period }, credit: spent + held },
  )
  post(tx, subjectOf(order, at), [['balance', 'held', held]])
  await events.emit(tx, 'order.created', order, { userId: ownerId })
  return order
}

/**
 * Charges the card of a subscription for a locked pending order, unless its total is 0.
 * @throws if the order is not payable: the transaction must not repeat the charge.
 */
export async function chargeOrder(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder,
  { gateway, at }: { gateway: string; at: Date },
): Promise<'paid' | 'declined' | 'no card'> {
  const { order, subscription } = locked
  if (await payIfFree(tx, services, locked, at)) return 'paid'
  const { card } = subscription!
  if (card === null) return 'no card'
  const notification = { gateway, reference: null, checkoutId: null, card, at }
  if (!card.renews) {
    await failPayment(tx, services, order, notification, 'card_declined')
    return 'declined'
  }
  // Roll back: otherwise the subscription would stay due and be charged and refunded again and again.
  if (!(await applyPayment(tx, services, locked, notification)))
    throw new Error(
      `Cannot charge the order ${order.id} of the subscription ${subscription!.id}: it is ${order.status}.`,
    )
  return 'paid'
}
