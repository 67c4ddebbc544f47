// Makes a change of a subscription that is due or paid.
import type { Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import type { PaymentServices } from './gateway.ts'
import { post } from './ledger.ts'
import type { OwnedOrder } from './orders.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import { storedItems, type OwnedSubscription, type SubscriptionItem } from './subscriptions.ts'
import { chargeUsage, countUsage } from './usage-billing.ts'

/** How the items of a subscription change. */
export interface ItemChange {
  items: SubscriptionItem[]
  /** The gateway of the new total. */
  gateway: string
  /** What is added to the next order, or taken from it. */
  owed?: number
  /** What of the returned payments reduces no further credit. */
  uncredited?: number
  /** Whether a new period starts at `at`. */
  restarts?: boolean
  /** Whether later periods are counted from the end of this one, because the interval changes there. */
  reAnchors?: boolean
  /** The items that the period is paid for, if they are others. */
  paidItems?: SubscriptionItem[] | null
  at: Date
}

/** Changes the items of a locked subscription. */
export async function changeItems(
  tx: Transaction,
  { id }: OwnedSubscription,
  {
    items,
    gateway,
    owed = 0,
    uncredited = 0,
    restarts = false,
    reAnchors = false,
    paidItems = null,
    at,
  }: ItemChange,
): Promise<OwnedSubscription> {
  const [{ price_id: priceId, quantity }] = items
  return await sql.changeItems(tx, {
    id,
    price_id: priceId,
    quantity,
    items: storedItems(items),
    gateway,
    owed,
    uncredited,
    restart: restarts,
    re_anchor: reAnchors,
    paid_items: paidItems === null ? null : JSON.stringify(paidItems),
    at,
  })
}

/** Gives the credit for unused time, and transfers the part of it that paid the order of the change. */
export function postUnused(
  tx: Transaction,
  { id, customer_id: customerId }: OwnedSubscription,
  { unused, spent, currency, orderId, at }: UnusedTime,
): void {
  const subject = { customerId, orderId: orderId ?? id, currency, at }
  post(tx, subject, [
    ['revenue', 'balance', unused],
    ['balance', 'revenue', spent],
  ])
}

interface UnusedTime {
  unused: number
  spent: number
  currency: string
  orderId: string | null
  at: Date
}

/** Makes the change that waited for an order, as of the order: it was quoted then. */
export async function applyChange(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  { order, at }: { order: OwnedOrder; at: Date },
): Promise<void> {
  const { events, gateways } = services
  const { items, unused_amount: unused } = subscription.scheduled_change!
  const { restarts, gateway, owed, uncredited, usage = [] } = subscription.change_terms!
  const spent = Math.min(unused, order.credit_amount)
  postUnused(tx, subscription, { unused, spent, currency: order.currency, orderId: order.id, at })
  const changed = await changeItems(tx, subscription, {
    items,
    gateway: gateways.of(gateway).name,
    restarts,
    owed,
    uncredited,
    at: new Date(order.created_at),
  })
  await chargeUsage(tx, services, usage, at)
  await countUsage(tx, changed, new Date(order.created_at))
  await emitSubscriptionUpdated(tx, events, subscription, changed)
}
