// Changes of the items of a subscription: their preview, now or at the end of the period.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/payments.ts'
import { changesOf } from '../../infra/contract/changes.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { conflict, forbidden, invalidField, invalidState } from '../../infra/errors.ts'
import { newId } from '../../infra/ids.ts'
import type { Principal } from '../users/authentication.ts'
import { changeItems, postUnused } from './apply-change.ts'
import { chargeOrder, insertCreditedOrder, paymentInProgress, usableCredit } from './charge.ts'
import { paymentsNow } from './clock.ts'
import { maxOrderAmount } from './currency.ts'
import { requireTotal, type Gateway, type PaymentServices } from './gateway.ts'
import { priceItems, toOrderItem, totalOf, type OrderLine, type PricedItems } from './orders.ts'
import { nothing, quoteChange, type ChangeTerms, type Plan, type Proration, type Quote } from './proration.ts'
import { maySell, requireSellable } from './sales.ts'
import { cancelOrder, lockOrder } from './settle.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import { countUsage, deferSmall, noUsage, readDueUsage, type DueUsage } from './usage-billing.ts'
import {
  awaitsCharge,
  findSubscription,
  isBilledByGateway,
  isPaidOrTrialing,
  type ChargedUsage,
  type OwnedSubscription,
  type Period,
} from './subscriptions.ts'

export type SubscriptionChange = components['schemas']['SubscriptionPreviewCreate']
type Preview = components['schemas']['SubscriptionPreview']

/** How long a change waits for its payment. */
export const changeLifetimeMs = 23 * 3_600_000

interface QuotedChange {
  quote: Quote
  /** The usage that the order of the change charges, in its lines. */
  usage: ChargedUsage[]
  /** The items that the change leads to, priced. */
  next: PricedItems
  gateway: string
  at: Date
}

/**
 * Changes the metadata and the items of a locked subscription, with one event. Returns one that does not
 * change as it is. Throws as `changeSubscription` does.
 */
export async function updateSubscription(
  tx: Transaction,
  services: PaymentServices,
  before: OwnedSubscription,
  { items, metadata, proration, apply }: components['schemas']['SubscriptionUpdate'],
): Promise<OwnedSubscription> {
  const changes = changesOf(before, { metadata })
  const labeled =
    changes === null
      ? before
      : await sql.setSubscriptionMetadata(tx, { id: before.id, metadata: changes.metadata! })
  if (items !== undefined && !isThere(before, { items, apply }))
    return await changeSubscription(tx, services, before, { items, proration, apply }, labeled)
  return changes === null ? before : await emitSubscriptionUpdated(tx, services.events, before, labeled)
}

/**
 * Changes the items of a locked subscription, now or at the end of its period. Replaces a scheduled change.
 * @throws 400 for prices that do not fit, 409 for a status other than `active` and `trialing`, for a
 * subscription that its gateway bills, and while the charge for its period is pending.
 */
export async function changeSubscription(
  tx: Transaction,
  services: PaymentServices,
  before: OwnedSubscription,
  change: SubscriptionChange,
  labeled = before,
): Promise<OwnedSubscription> {
  if (isThere(before, change)) return before
  const subscription = await dropChange(tx, services, labeled)
  const { quote, usage, next, gateway, at } = await quoteOf(tx, services, subscription, change)
  const items = itemsOf(next.lines, subscription)
  if (change.apply === 'period_end') {
    const waiting = { items, order_id: null, unused_amount: 0, expires_at: null }
    const changed = await sql.setChange(tx, { id: subscription.id, change: waiting, expires_at: null })
    return await emitSubscriptionUpdated(tx, services.events, before, changed)
  }
  if (quote.lines.length > 0)
    return await chargeChange(tx, services, { before, subscription, items, quote, usage, next, gateway, at })
  const { unused, uncredited, owed, restarts } = quote
  postUnused(tx, subscription, { unused, spent: 0, currency: next.currency, orderId: null, at })
  const paidItems = change.proration === 'none' ? paidItemsOf(subscription) : null
  const changed = await changeItems(tx, subscription, {
    items,
    gateway,
    owed,
    uncredited,
    restarts,
    paidItems,
    at,
  })
  await countUsage(tx, changed, at)
  return await emitSubscriptionUpdated(tx, services.events, before, changed)
}

/** Whether the subscription has the items already, or they are scheduled. */
function isThere(
  { items, scheduled_change: scheduled, paid_items: paid }: OwnedSubscription,
  change: SubscriptionChange,
) {
  const has = (there: OwnedSubscription['items']): boolean =>
    there.length === change.items.length &&
    there.every(({ price_id: id, quantity }, i) => {
      const { price_id: wanted, quantity: units = 1 } = change.items[i]
      return id === wanted && quantity === units
    })
  if (change.apply === 'period_end') return scheduled?.order_id === null && has(scheduled.items)
  return scheduled === null && paid === null && has(items)
}

/** What a change would cost now. */
export async function previewChange(
  db: Db,
  services: PaymentServices,
  subscription: OwnedSubscription,
  change: SubscriptionChange,
): Promise<Preview> {
  const { quote, next, at } = await quoteOf(db, services, subscription, change)
  const { lines, unused, owed, restarts } = quote
  const subtotal = totalOf(lines)
  const key = { customer_id: subscription.customer_id, currency: next.currency }
  const balance = (await sql.findBalance(db, key))?.amount ?? 0
  const minimum = services.gateways.current.minimumOf(next.currency)
  const credit = usableCredit(subtotal, unused + balance, minimum)
  const end = new Date(subscription.current_period_end!)
  const { end: periodEnd } = restarts
    ? await sql.readPeriodEnd(db, { price_id: next.lines[0].priceId, start: at })
    : { end: end.toISOString() }
  return {
    lines: lines.map(toOrderItem),
    currency: next.currency,
    subtotal_amount: subtotal,
    unused_amount: unused,
    credit_amount: credit,
    total_amount: subtotal - credit,
    effective_at: (change.apply === 'period_end' ? end : at).toISOString(),
    period_end: periodEnd,
    next_amount: next.total + owed + subscription.owed_amount,
  }
}

/** Takes back the scheduled change of a locked subscription. Returns one without a change as it is. */
export async function cancelChange(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
): Promise<OwnedSubscription> {
  if (subscription.scheduled_change === null) return subscription
  const changed = await dropChange(tx, services, subscription)
  return await emitSubscriptionUpdated(tx, services.events, subscription, changed)
}

/** Removes the scheduled change of a locked subscription, and cancels the order of one that was not paid. */
export async function dropChange(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
): Promise<OwnedSubscription> {
  const { id, scheduled_change: change } = subscription
  if (change === null) return subscription
  if (change.order_id !== null) {
    const locked = await lockOrder(tx, change.order_id)
    await cancelOrder(tx, services, locked, await paymentsNow(tx))
  }
  return await sql.setChange(tx, { id, change: null, expires_at: null })
}

/**
 * Drops a change that waits for its payment, with its event, when a payment for its subscription is returned:
 * the change was quoted with a credit for what was paid. Locks the subscription of the order.
 */
export async function dropQuotedChange(
  tx: Transaction,
  services: PaymentServices,
  orderId: string,
): Promise<void> {
  const subscription = await sql.lockSubscriptionOfOrder(tx, { order_id: orderId })
  if (subscription?.scheduled_change?.order_id != null) await cancelChange(tx, services, subscription)
}

/** Prices a change. Throws as `changeSubscription` does. */
async function quoteOf(
  db: Db,
  services: PaymentServices,
  subscription: OwnedSubscription,
  { items, proration = 'now', apply }: SubscriptionChange,
): Promise<QuotedChange> {
  const { gateways } = services
  const { status, items: current, gateway } = subscription
  if (!isPaidOrTrialing(status)) throw invalidState('subscription', status)
  if (apply === 'period_end' && subscription.cancel_at_period_end)
    throw invalidState(
      'subscription',
      'scheduled',
      'The subscription ends with its period.',
      'cancel_at_period_end',
    )
  requireChangeable(subscription)
  requireDistinct(items.map(({ price_id: id }) => id))
  const paid = paidItemsOf(subscription)
  const from = await priceItems(db, paid, { recurring: true, kept: paid })
  const { seller_organization_id: seller, customer_id: customerId } = subscription
  const next = await priceItems(db, items, { recurring: true, kept: current, seller, customerId })
  if (next.currency !== from.currency)
    throw invalidField('items', 'currency', `The subscription is in ${from.currency.toUpperCase()}.`)
  const newGateway = gateways.forChange(gateway, next)
  // A subscription that the gateway has stays with it.
  if (newGateway.name !== gateway) requireSellable(gateways, seller ?? null, newGateway)
  requireTotal(newGateway, next.total, next.currency, 'items')
  // The change at the end of a period credits nothing.
  const returned = apply === 'period_end' ? 0 : (await sql.readReturned(db, { id: subscription.id })).amount
  const trialing = status === 'trialing'
  const terms = { period: periodOf(subscription), at: next.now, proration, trialing, returned }
  const quote =
    apply === 'period_end'
      ? nothing
      : payOwed(quoteChargeable(from, next, terms, newGateway), subscription.owed_amount)
  const due = await usageOf(db, services, subscription, quote, newGateway.minimumOf(next.currency), next.now)
  return {
    quote: { ...quote, lines: [...quote.lines, ...due.lines] },
    usage: due.charged,
    next,
    gateway: newGateway.name,
    at: next.now,
  }
}

/** The usage that the order of a change charges: that of the period that ends, if a new one starts. */
async function usageOf(
  db: Db,
  services: PaymentServices,
  subscription: OwnedSubscription,
  { lines, unused, restarts }: Quote,
  minimum: number,
  at: Date,
): Promise<DueUsage> {
  if (!restarts) return noUsage
  const others = totalOf(lines)
  const due = await readDueUsage(db, services, subscription, { at, room: maxOrderAmount - others })
  return deferSmall(due, others + totalOf(due.lines) - unused, minimum)
}

/** Quotes a change. A difference that the gateway cannot charge is added to the next order. */
function quoteChargeable(from: Plan, next: Plan, terms: ChangeTerms, gateway: Gateway): Quote {
  const quote = quoteChange(from, next, terms)
  const due = totalOf(quote.lines) - quote.unused
  return due > 0 && due < gateway.minimumOf(next.currency)
    ? quoteChange(from, next, { ...terms, proration: 'next_period' })
    : quote
}

/** The items that the period is paid for. */
function paidItemsOf({ paid_items: paid, items }: OwnedSubscription): OwnedSubscription['items'] {
  return paid ?? items
}

/** The credit for unused time first pays what earlier changes owe: that time is given back, too. */
function payOwed({ unused, owed, ...quote }: Quote, due: number): Quote {
  const paid = Math.min(unused, due)
  return { ...quote, unused: unused - paid, owed: owed - paid }
}

interface ChargedChange extends QuotedChange {
  before: OwnedSubscription
  subscription: OwnedSubscription
  items: OwnedSubscription['items']
}

/** Charges a change: it is made when its order is paid, at once if that is possible. */
async function chargeChange(
  tx: Transaction,
  services: PaymentServices,
  { before, subscription, items, quote, usage, next, gateway, at }: ChargedChange,
): Promise<OwnedSubscription> {
  const { id } = subscription
  const { lines, unused, uncredited, restarts, owed } = quote
  const { currency } = next
  const order = await insertCreditedOrder(tx, services, subscription, { lines, currency, unused, at })
  const expiresAt = new Date(at.getTime() + changeLifetimeMs)
  const change = {
    items,
    order_id: order.id,
    unused_amount: unused,
    expires_at: expiresAt.toISOString(),
    terms: { restarts, gateway, owed, uncredited, usage },
  }
  const waiting = await sql.setChange(tx, { id, change, expires_at: expiresAt })
  const locked = { order, subscription: waiting, checkout: null }
  if ((await chargeOrder(tx, services, locked, { gateway, at })) === 'paid')
    return (await findSubscription(tx, id))!
  return await emitSubscriptionUpdated(tx, services.events, before, waiting)
}

/** The items of priced lines, with their ids: an item with the price of a present one keeps its id. */
export function itemsOf(lines: OrderLine[], subscription?: OwnedSubscription): OwnedSubscription['items'] {
  return lines.map(({ priceId, quantity }) => ({
    id: subscription?.items.find(({ price_id: id }) => id === priceId)?.id ?? newId('sitm'),
    price_id: priceId,
    quantity,
  }))
}

/**
 * Throws 403 for a customer who does not pay the rest of the period now: the seller decides about that. Only
 * sellers open a subscription of an organization.
 */
export function requireProration(
  principal: Principal,
  { seller_organization_id: seller = null }: OwnedSubscription,
  proration: Proration = 'now',
): void {
  if (proration !== 'now' && seller === null && !maySell(principal))
    throw forbidden('Only sellers decide about the proration.', 'scope')
}

/** Throws 409 for a subscription that its gateway bills, and while the charge for its period is pending. */
export function requireChangeable(subscription: OwnedSubscription): void {
  if (isBilledByGateway(subscription))
    throw conflict('gateway', 'The gateway bills this subscription; change it there.', 'subscription_id')
  if (awaitsCharge(subscription)) throw paymentInProgress()
}

/** Throws 400 if a price is in two items. */
export function requireDistinct(priceIds: string[]): void {
  const twice = priceIds.findIndex((id, i) => priceIds.indexOf(id) !== i)
  if (twice >= 0)
    throw invalidField(`items[${twice}].price_id`, 'uniqueItems', 'Another item has the same price.')
}

function periodOf({ current_period_start: start, current_period_end: end }: OwnedSubscription): Period {
  return { start: new Date(start!), end: new Date(end!) }
}
