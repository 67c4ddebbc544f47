// The invoices of Stripe's subscriptions: each is an order here, counted once by its id, and paid or owed as Stripe says.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { findOrder, insertOrder, type Line, type OwnedOrder } from '../orders.ts'
import { cancelOrder, keepPayment, lockDeal } from '../settle.ts'
import type { SettleServices } from '../gateway.ts'
import { setLatestOrder, subscriptionById, type OwnedSubscription } from '../subscriptions.ts'
import { fromStripe, toStripe } from './amounts.ts'
import { hasEnded, periodOf, type Invoice, type StripeSubscription } from './mapping.ts'
import { paymentAt, settleOnce, stripeName } from './events.ts'

/** What Stripe has said of a subscription's invoices. */
export interface Billed {
  subscription: StripeSubscription
  /** Oldest first. */
  invoices: Invoice[]
}

/**
 * Makes orders of invoices, and pays them. One that is paid stays so: that counts even if what was said is not `current`.
 * @returns the subscription as it was last told of.
 */
export async function settleInvoices(
  tx: Db,
  services: SettleServices,
  before: OwnedSubscription,
  { subscription, invoices }: Billed,
  { at, current }: { at: Date; current: boolean },
): Promise<OwnedSubscription> {
  let told = before
  for (const invoice of invoices) {
    const payment = await paymentAt(tx, invoice.id)
    if (invoice.total <= 0 || (payment !== undefined && payment.status !== 'processing')) continue
    if (invoice.status === 'paid') {
      const order =
        payment === undefined
          ? await orderOf(tx, services, before.id, invoice, at)
          : await findOrder(tx, payment.order_id)
      const was = (await subscriptionById(tx, before.id))!.status
      const paid = await settleOnce(tx, services, order.id, {
        ...toldOf(order, invoice, at),
        period: periodOf(subscription),
      })
      if (paid && was !== 'active') told = (await subscriptionById(tx, before.id))!
    } else if (current && invoice.status === 'void' && payment !== undefined) {
      const deal = await lockDeal(tx, payment.order_id)
      await keepPayment(
        tx,
        deal.order,
        { ...toldOf(deal.order, invoice, at), id: payment.id },
        { status: 'failed', code: 'void' },
      )
      if (deal.order.status === 'pending') await cancelOrder(tx, services, deal, at)
    } else if (current && payment === undefined && isOwed(invoice, subscription, before)) {
      const order = await orderOf(tx, services, before.id, invoice, at)
      await keepPayment(tx, order, toldOf(order, invoice, at), { status: 'processing', dueAt: null })
    }
  }
  return told
}

/** Whether it was tried to be paid, and is still to be. The first is tried by a customer who is still at it. */
function isOwed(invoice: Invoice, { status }: StripeSubscription, before: OwnedSubscription): boolean {
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

function toldOf(order: OwnedOrder, invoice: Invoice, at: Date) {
  return {
    gateway: stripeName,
    reference: invoice.id,
    checkoutId: isFirst(invoice) ? order.checkout_id : null,
    card: null,
    at,
  }
}

const firstOrder = statement<{ id: string }>(
  'SELECT id FROM orders WHERE subscription_id = $1 AND period = 1',
)
const nextPeriod = statement<{ period: number }>(
  'SELECT max(period) + 1 AS period FROM orders WHERE subscription_id = $1',
)
const setPeriod = statement('UPDATE subscriptions SET period = $2 WHERE id = $1')

/** The order of an invoice that is not known yet: the first one's is there, others are made. Of a subscription that has ended no more is ordered. */
async function orderOf(
  tx: Db,
  services: SettleServices,
  id: string,
  invoice: Invoice,
  now: Date,
): Promise<OwnedOrder> {
  const subscription = (await subscriptionById(tx, id))!
  if (isFirst(invoice)) {
    const [first] = await tx.sql(firstOrder, [id])
    const order = await findOrder(tx, first.id)
    if (invoice.total !== toStripe(order.total_amount, order.currency) || invoice.currency !== order.currency)
      throw new Error(`${invoice.id} is for another amount than ${order.id}`)
    return order
  }
  if (subscription.status === 'canceled') return await findOrder(tx, subscription.latest_order_id)
  const { project_id: projectId, owner_id: ownerId, metadata } = subscription
  const [{ period }] = await tx.sql(nextPeriod, [id])
  const line = await lineOf(tx, subscription, invoice)
  const order = await insertOrder(
    tx,
    { lines: [line], currency: invoice.currency, total: line.amount, now },
    { projectId, ownerId, metadata, subscription: { id, period } },
  )
  await setLatestOrder(tx, id, order.id)
  if (subscription.period > 0) await tx.sql(setPeriod, [id, period])
  await services.events.emit(tx, 'order.created', order, { userId: ownerId })
  return order
}

const priceOf = statement<{ unit_amount: number; name: string }>(
  'SELECT p.unit_amount, d.name FROM prices p JOIN products d ON d.id = p.product_id WHERE p.id = $1',
)

/** What Stripe asks for: as agreed on, unless the operator has changed the subscription there. */
async function lineOf(
  tx: Db,
  { price_id: priceId, quantity }: OwnedSubscription,
  { total, currency }: Invoice,
): Promise<Line> {
  const [{ unit_amount: unitAmount, name: productName }] = await tx.sql(priceOf, [priceId])
  const amount = fromStripe(total, currency)
  return amount === unitAmount * quantity
    ? { priceId, productName, quantity, unitAmount, amount }
    : { priceId, productName, quantity: 1, unitAmount: amount, amount }
}
