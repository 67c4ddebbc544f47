// Invoices of Stripe's subscriptions. Each invoice becomes one order, identified by the invoice's id, and is
// paid or pending as at Stripe.
import type { Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { findOrder, insertOrder, type OwnedOrder, type OrderLine } from '../orders.ts'
import { cancelOrder, emitPaymentFailed, lockOrder, recordPaymentAttempt } from '../settle.ts'
import type { PaymentServices } from '../gateway.ts'
import { setLatestOrder, findSubscription, type OwnedSubscription } from '../subscriptions.ts'
import { fromStripeAmount, toStripeAmount } from './amounts.ts'
import { hasEnded, periodOf, type Invoice, type StripeSubscription } from './mapping.ts'
import { applyStripePayment, findPaymentByReference, stripeName, type RecordedPayment } from './events.ts'

export interface SubscriptionInvoices {
  subscription: StripeSubscription
  /** Oldest first. */
  invoices: Invoice[]
}

interface InvoiceContext {
  tx: Transaction
  services: PaymentServices
  subscription: StripeSubscription
  /** The subscription before any of the invoices was applied. */
  before: OwnedSubscription
  at: Date
}

/**
 * Creates the orders of invoices and applies their payments. A paid invoice stays paid, so it is applied even
 * if the fetched state is not the latest; all else is applied only if it is.
 * @returns the subscription as its last event showed it.
 */
export async function applyInvoices(
  tx: Transaction,
  services: PaymentServices,
  before: OwnedSubscription,
  { subscription, invoices }: SubscriptionInvoices,
  { at, isLatest }: { at: Date; isLatest: boolean },
): Promise<OwnedSubscription> {
  const context = { tx, services, subscription, before, at }
  let announced = before
  for (const invoice of invoices) {
    const payment = await findPaymentByReference(tx, invoice.id)
    if (invoice.total <= 0 || (payment !== undefined && payment.status !== 'processing')) continue
    if (invoice.status === 'paid')
      announced = (await applyPaidInvoice(context, invoice, payment)) ?? announced
    else if (isLatest && invoice.status === 'void' && payment !== undefined)
      await applyVoidInvoice(context, invoice, payment)
    else if (isLatest && isOverdue(invoice, subscription, before))
      await applyFailedCharge(context, invoice, payment)
  }
  return announced
}

/** @returns the subscription if an event announced its change, else null. */
async function applyPaidInvoice(
  { tx, services, subscription, before, at }: InvoiceContext,
  invoice: Invoice,
  payment: RecordedPayment | undefined,
): Promise<OwnedSubscription | null> {
  const order =
    payment === undefined
      ? await orderOfInvoice(tx, services, before.id, invoice, at)
      : await findOrder(tx, payment.order_id)
  const { status: previousStatus } = (await findSubscription(tx, before.id))!
  const paid = await applyStripePayment(tx, services, order.id, {
    ...notificationOf(order, invoice, at),
    period: periodOf(subscription),
  })
  const current = (await findSubscription(tx, before.id))!
  return paid && current.status !== previousStatus ? current : null
}

/** Creates the order of an invoice that could not be charged, and emits one event for each new attempt. */
async function applyFailedCharge(
  { tx, services, before, at }: InvoiceContext,
  invoice: Invoice,
  payment: RecordedPayment | undefined,
): Promise<void> {
  const order =
    payment === undefined
      ? await orderOfInvoice(tx, services, before.id, invoice, at)
      : await findOrder(tx, payment.order_id)
  if (payment === undefined)
    await recordPaymentAttempt(tx, order, notificationOf(order, invoice, at), {
      status: 'processing',
      dueAt: null,
    })
  const { latest_order_id: latestId } = (await findSubscription(tx, before.id))!
  if (order.id !== latestId || order.status !== 'pending') return
  if ((await sql.setTries(tx, { id: before.id, tries: invoice.attempt_count })) !== undefined)
    await emitPaymentFailed(tx, services.events, order)
}

async function applyVoidInvoice(
  { tx, services, at }: InvoiceContext,
  invoice: Invoice,
  payment: RecordedPayment,
): Promise<void> {
  const locked = await lockOrder(tx, payment.order_id)
  const notification = { ...notificationOf(locked.order, invoice, at), id: payment.id }
  await recordPaymentAttempt(tx, locked.order, notification, { status: 'failed', code: 'void' })
  if (locked.order.status === 'pending') await cancelOrder(tx, services, locked, at)
}

/**
 * True for an open invoice after a failed charge. The first invoice does not count: its customer is still
 * paying.
 */
function isOverdue(invoice: Invoice, { status }: StripeSubscription, before: OwnedSubscription): boolean {
  return (
    invoice.status === 'open' &&
    invoice.attempted &&
    before.status !== 'canceled' &&
    status !== 'incomplete' &&
    !hasEnded(status)
  )
}

function isFirst(invoice: Invoice): boolean {
  return invoice.billing_reason === 'subscription_create'
}

function notificationOf(order: OwnedOrder, invoice: Invoice, at: Date) {
  return {
    gateway: stripeName,
    reference: invoice.id,
    checkoutId: isFirst(invoice) ? order.checkout_id : null,
    card: null,
    at,
  }
}

/**
 * The order of a new invoice: the existing first order, or a new order. A canceled subscription gets no new
 * orders, so the latest one is returned and its payment is refunded as late.
 */
async function orderOfInvoice(
  tx: Transaction,
  services: PaymentServices,
  id: string,
  invoice: Invoice,
  now: Date,
): Promise<OwnedOrder> {
  const subscription = (await findSubscription(tx, id))!
  if (isFirst(invoice)) return await firstOrder(tx, id, invoice)
  if (subscription.status === 'canceled') return await findOrder(tx, subscription.latest_order_id)
  const { project_id: projectId, owner_id: ownerId, metadata } = subscription
  const { period } = await sql.readNextPeriod(tx, { subscription_id: id })
  const line = await orderLineOf(tx, subscription, invoice)
  const order = await insertOrder(
    tx,
    { lines: [line], currency: invoice.currency, total: line.amount, now },
    { projectId, ownerId, metadata, subscription: { id, period } },
  )
  await setLatestOrder(tx, id, order.id)
  if (subscription.period > 0) await sql.setPeriodNumber(tx, { id, period })
  await services.events.emit(tx, 'order.created', order, { userId: ownerId })
  return order
}

async function firstOrder(tx: Transaction, subscriptionId: string, invoice: Invoice): Promise<OwnedOrder> {
  const first = await sql.readFirstOrder(tx, { subscription_id: subscriptionId })
  const order = await findOrder(tx, first.id)
  const { total_amount: total, currency } = order
  if (invoice.total !== toStripeAmount(total, currency) || invoice.currency !== currency)
    throw new Error(`The amount of the Stripe invoice ${invoice.id} differs from the order ${order.id}.`)
  return order
}

/**
 * The line of an invoice's order: price times quantity, or the invoice's total if an operator changed it at
 * Stripe.
 */
async function orderLineOf(
  tx: Transaction,
  { price_id: priceId, quantity }: OwnedSubscription,
  { total, currency }: Invoice,
): Promise<OrderLine> {
  const { unit_amount: unitAmount, name: productName } = await sql.readPriceAndProduct(tx, { id: priceId })
  const amount = fromStripeAmount(total, currency)
  return amount === unitAmount * quantity
    ? { priceId, productName, quantity, unitAmount, amount }
    : { priceId, productName, quantity: 1, unitAmount: amount, amount }
}
