// Subscriptions at Stripe, which renews them itself: its periods and states are taken over, and each of its invoices is an order here, counted
// once by its id. Only whether one is to end is also decided here: until Stripe has heard of that, what it says of it does not count.
import type { Stripe } from 'stripe'
import { statement, type Db } from '../../database.ts'
import type { Queue } from '../../jobs.ts'
import { paymentsNow } from '../clock.ts'
import type { GatewayJob } from '../gateway.ts'
import { findOrder, insertOrder, type Line, type OwnedOrder } from '../orders.ts'
import { isAbandoned } from '../renewals.ts'
import { cancelOrder, endSubscription, keepPayment, lockDeal, tellSubscription, type SettleServices } from '../settle.ts'
import { setEnd, setLatestOrder, shownSubscription, subscriptionById, type OwnedSubscription, type Period } from '../subscriptions.ts'
import { fromStripe, toStripe } from './amounts.ts'
import { StripeFailure, type StripeConnection } from './connection.ts'
import { learn, paymentAt, settleOnce, stripeName, type Settle } from './told.ts'

type Invoice = Stripe.Invoice
type AtStripe = Stripe.Subscription

/** How a subscription is to end, as it was decided here: at once, with its period, or not. */
type End = 'now' | 'with its period' | 'open'

/** What Stripe has said of a subscription. */
interface View {
  /** When it was asked. */
  asked: Date
  subscription: AtStripe
  /** Oldest first, as far back as there may be anything new. */
  invoices: Invoice[]
  /** What Stripe was told before, where it was. */
  followed: End | null
}

const known = statement<{ period_start: string | null }>('SELECT period_start FROM subscriptions WHERE gateway_reference = $1')
const day = 86_400

/** Asks about a subscription and its invoices. @param invoice is one that may be older than what is asked about. */
export async function askSubscription (stripe: StripeConnection, db: Db, id: string, { invoice = null, followed = null }: { invoice?: Invoice | null, followed?: End | null } = {}): Promise<Settle> {
  const [row] = await db.sql(known, [id])
  const asked = await paymentsNow(db)
  const subscription = await stripe.ask((api) => api.subscriptions.retrieve(id))
  // An invoice is older than the period that it is for by moments at most.
  const since = row?.period_start == null ? {} : { created: { gte: Math.floor(Date.parse(row.period_start) / 1000) - day } }
  const invoices = await stripe.ask((api) => api.invoices.list({ subscription: id, limit: 100, ...since }).autoPagingToArray({ limit: 10_000 }))
  if (invoice !== null && !invoices.some((one) => one.id === invoice.id)) invoices.push(invoice)
  invoices.sort((a, b) => a.created - b.created)
  return (tx, services) => settleSubscription(tx, services, { asked, subscription, invoices, followed })
}

/** Asks about the subscription of an invoice, if it is of one. */
export async function askInvoice (stripe: StripeConnection, db: Db, id: string): Promise<Settle> {
  const invoice = await stripe.ask((api) => api.invoices.retrieve(id))
  const subscription = invoice.parent?.subscription_details?.subscription
  if (subscription === undefined) return async () => 'settled'
  return await askSubscription(stripe, db, typeof subscription === 'string' ? subscription : subscription.id, { invoice })
}

async function settleSubscription (tx: Db, services: SettleServices, view: View): Promise<'settled' | 'ask again'> {
  const id = view.subscription.metadata.subscription_id
  const before = id === undefined ? undefined : await subscriptionById(tx, id, { lock: true })
  // Others may use the same account.
  if (before?.gateway !== stripeName) return 'settled'
  if (before.gateway_reference !== null && before.gateway_reference !== view.subscription.id) throw new Error(`${view.subscription.id} says that it is ${id}, which is another one`)
  const belief = await believe(tx, services, before, view)
  if (belief === 'ask again') return belief
  const at = await paymentsNow(tx)
  const current = belief === 'newest'
  const told = await settleInvoices(tx, services, before, view, { at, current })
  if (current) await takeOver(tx, told, view, at)
  await settleEnd(tx, services, told, view, { at, ended: current && hasEnded(view.subscription.status) })
  return 'settled'
}

const tell = statement<{ id: string }>(`
  UPDATE subscriptions SET told_at = $2, gateway_reference = coalesce(gateway_reference, $3)
  WHERE id = $1 AND (told_at IS NULL OR told_at < $2 OR (told_at = 'infinity' AND $4)) RETURNING id`)
const sameTime = statement<{ id: string }>('SELECT id FROM subscriptions WHERE id = $1 AND told_at = $2')

/** Whether a view is the newest that there is; of two of the same time nobody knows. What Stripe has to hear of first makes all that it says old. */
async function believe (tx: Db, { gateways }: SettleServices, subscription: OwnedSubscription, { asked, subscription: { id }, followed }: View): Promise<'newest' | 'old' | 'ask again'> {
  if (followed !== null && followed !== endOf(subscription)) {
    // It was decided anew while Stripe was told.
    await gateways.of(stripeName).follow(tx, subscription)
    return 'old'
  }
  if ((await tx.sql(tell, [subscription.id, asked, id, followed !== null])).length === 1) return 'newest'
  return (await tx.sql(sameTime, [subscription.id, asked])).length === 1 ? 'ask again' : 'old'
}

/**
 * Makes orders of invoices, and pays them. One that is paid stays so: that counts however old the view is.
 * @returns the subscription as it was last told of.
 */
async function settleInvoices (tx: Db, services: SettleServices, before: OwnedSubscription, { subscription, invoices }: View, { at, current }: { at: Date, current: boolean }): Promise<OwnedSubscription> {
  let told = before
  for (const invoice of invoices) {
    const payment = await paymentAt(tx, invoice.id)
    if (invoice.total <= 0 || (payment !== undefined && payment.status !== 'processing')) continue
    if (invoice.status === 'paid') {
      const order = payment === undefined ? await orderOf(tx, services, before.id, invoice, at) : await findOrder(tx, payment.order_id)
      const was = (await subscriptionById(tx, before.id))!.status
      const paid = await settleOnce(tx, services, order.id, { ...toldOf(order, invoice, at), period: periodOf(subscription) })
      if (paid && was !== 'active') told = (await subscriptionById(tx, before.id))!
    } else if (current && invoice.status === 'void' && payment !== undefined) {
      const deal = await lockDeal(tx, payment.order_id)
      await keepPayment(tx, deal.order, { ...toldOf(deal.order, invoice, at), id: payment.id }, { status: 'failed', code: 'void' })
      if (deal.order.status === 'pending') await cancelOrder(tx, services, deal, at)
    } else if (current && payment === undefined && isOwed(invoice, subscription, before)) {
      const order = await orderOf(tx, services, before.id, invoice, at)
      await keepPayment(tx, order, toldOf(order, invoice, at), { status: 'processing', dueAt: null })
    }
  }
  return told
}

/** Whether it was tried to be paid, and is still to be. The first is tried by a customer who is still at it. */
function isOwed (invoice: Invoice, { status }: AtStripe, before: OwnedSubscription): boolean {
  return invoice.status === 'open' && invoice.attempted && before.status !== 'canceled' && status !== 'incomplete' && !hasEnded(status)
}

function isFirst (invoice: Invoice): boolean {
  return invoice.billing_reason === 'subscription_create'
}

function toldOf (order: OwnedOrder, invoice: Invoice, at: Date) {
  return { gateway: stripeName, reference: invoice.id, checkoutId: isFirst(invoice) ? order.checkout_id : null, card: null, at }
}

const firstOrder = statement<{ id: string }>('SELECT id FROM orders WHERE subscription_id = $1 AND period = 1')
const nextPeriod = statement<{ period: number }>('SELECT max(period) + 1 AS period FROM orders WHERE subscription_id = $1')
const setPeriod = statement('UPDATE subscriptions SET period = $2 WHERE id = $1')

/** The order of an invoice that is not known yet: the first one's is there, others are made. Of a subscription that has ended no more is ordered. */
async function orderOf (tx: Db, services: SettleServices, id: string, invoice: Invoice, now: Date): Promise<OwnedOrder> {
  const subscription = (await subscriptionById(tx, id))!
  if (isFirst(invoice)) {
    const [first] = await tx.sql(firstOrder, [id])
    const order = await findOrder(tx, first.id)
    if (invoice.total !== toStripe(order.total_amount, order.currency) || invoice.currency !== order.currency) throw new Error(`${invoice.id} is for another amount than ${order.id}`)
    return order
  }
  if (subscription.status === 'canceled') return await findOrder(tx, subscription.latest_order_id)
  const { project_id: projectId, owner_id: ownerId, metadata } = subscription
  const [{ period }] = await tx.sql(nextPeriod, [id])
  const line = await lineOf(tx, subscription, invoice)
  const order = await insertOrder(tx, { lines: [line], currency: invoice.currency, total: line.amount, now }, { projectId, ownerId, metadata, subscription: { id, period } })
  await setLatestOrder(tx, id, order.id)
  if (subscription.period > 0) await tx.sql(setPeriod, [id, period])
  await services.events.emit(tx, 'order.created', order, { userId: ownerId })
  return order
}

const priceOf = statement<{ unit_amount: number, name: string }>('SELECT p.unit_amount, d.name FROM prices p JOIN products d ON d.id = p.product_id WHERE p.id = $1')

/** What Stripe asks for: as agreed on, unless the operator has changed the subscription there. */
async function lineOf (tx: Db, { price_id: priceId, quantity }: OwnedSubscription, { total, currency }: Invoice): Promise<Line> {
  const [{ unit_amount: unitAmount, name: productName }] = await tx.sql(priceOf, [priceId])
  const amount = fromStripe(total, currency)
  return amount === unitAmount * quantity ? { priceId, productName, quantity, unitAmount, amount } : { priceId, productName, quantity: 1, unitAmount: amount, amount }
}

function periodOf ({ items }: AtStripe): Period {
  const [{ current_period_start: start, current_period_end: end }] = items.data
  return { start: new Date(start * 1000), end: new Date(end * 1000) }
}

const setDates = statement('UPDATE subscriptions SET period_start = $2, period_end = $3 WHERE id = $1 AND period > 0')
const setStatus = statement('UPDATE subscriptions SET status = $2::"SubscriptionStatus" WHERE id = $1 AND status IN (\'active\', \'past_due\')')
const pendingOrders = statement<{ id: string }>("SELECT id FROM orders WHERE subscription_id = $1 AND status = 'pending' ORDER BY id")

/** Takes over the period, the state, and whether it is to end. */
async function takeOver (tx: Db, { id, status, cancel_at_period_end: atPeriodEnd }: OwnedSubscription, { subscription }: View, at: Date): Promise<void> {
  if (status === 'canceled') return
  const { start, end } = periodOf(subscription)
  await tx.sql(setDates, [id, start, end])
  if (endsWithPeriod(subscription) !== atPeriodEnd) await setEnd(tx, id, { canceledAt: atPeriodEnd ? null : at })
  const now = states[subscription.status]
  if (now !== undefined) await tx.sql(setStatus, [id, now])
}

/** Ends it when it has ended there, or else tells of what has changed. @param told the subscription as it was last told of. */
async function settleEnd (tx: Db, services: SettleServices, told: OwnedSubscription, { followed, subscription }: View, { at, ended }: { at: Date, ended: boolean }): Promise<void> {
  const { id } = told
  const now = (await subscriptionById(tx, id))!
  const over = now.status === 'canceled'
  const abandoned = !over && !ended && followed === null && await isAbandoned(tx, id)
  if (!over && (ended || abandoned)) await endSubscription(tx, services, told, at, { told: ended })
  else if (JSON.stringify(shownSubscription(now)) !== JSON.stringify(shownSubscription(told))) await tellSubscription(tx, services.events, told, now)
  if (ended || over || abandoned) {
    for (const order of await tx.sql(pendingOrders, [id])) await cancelOrder(tx, services, await lockDeal(tx, order.id), at)
  }
  // It has begun there after it had ended here.
  if (over && followed === null && !hasEnded(subscription.status)) await services.gateways.of(stripeName).follow(tx, now)
}

/** What is not here leaves the state as it is. */
const states: Record<string, 'active' | 'past_due'> = { active: 'active', trialing: 'active', past_due: 'past_due', unpaid: 'past_due' }

function hasEnded (status: string): boolean {
  return status === 'canceled' || status === 'incomplete_expired'
}

/** Stripe's own pages set the time of the end where the API sets that there is one. @see https://docs.stripe.com/billing/subscriptions/billing-mode/compare */
function endsWithPeriod (subscription: AtStripe): boolean {
  const { cancel_at_period_end: atEnd, cancel_at: endsAt } = subscription
  return atEnd || (endsAt !== null && endsAt * 1000 <= periodOf(subscription).end.getTime())
}

function endOf ({ status, cancel_at_period_end: atPeriodEnd }: OwnedSubscription): End {
  return status === 'canceled' ? 'now' : atPeriodEnd ? 'with its period' : 'open'
}

const decide = statement<{ id: string }>("UPDATE subscriptions SET told_at = 'infinity' WHERE id = $1 AND gateway_reference IS NOT NULL RETURNING id")

/** Stripe is to hear how a subscription ends; until then it is not believed. One that has not begun there is closed with its session. */
export async function follow (tx: Db, jobs: Queue<GatewayJob>, { id }: { id: string }): Promise<void> {
  if ((await tx.sql(decide, [id])).length === 1) await jobs.add(tx, [{ data: { task: 'follow', id, tries: 0 }, group: id }])
}

const believeAgain = statement("UPDATE subscriptions SET told_at = NULL WHERE id = $1 AND told_at = 'infinity'")

/** Stripe could not be told: what it says counts again. */
export async function giveUpFollowing (tx: Db, id: string): Promise<void> {
  await tx.sql(believeAgain, [id])
}

/** Tells Stripe how a subscription is to end, and asks what became of it. `key` is that of the request. */
export async function tellEnd (stripe: StripeConnection, db: Db, services: SettleServices, id: string, key: string): Promise<void> {
  const row = await subscriptionById(db, id)
  if (row === undefined || row.gateway_reference === null) return
  const { gateway_reference: reference } = row
  const end = endOf(row)
  await learn(db, services, async () => {
    const subscription = await stripe.ask((api) => api.subscriptions.retrieve(reference))
    const change = changeTo(subscription, end)
    try {
      if (change === 'cancel') await stripe.ask((api) => api.subscriptions.cancel(reference, {}, { idempotencyKey: key }))
      else if (change !== null) await stripe.ask((api) => api.subscriptions.update(reference, change, { idempotencyKey: key }))
    } catch (error) {
      if (!(error instanceof StripeFailure) || error.passing) throw error
      // It may have ended in this moment.
      const { status } = await stripe.ask((api) => api.subscriptions.retrieve(reference))
      if (!hasEnded(status)) throw error
    }
    return await askSubscription(stripe, db, reference, { followed: end })
  })
}

function changeTo (subscription: AtStripe, end: End): 'cancel' | Stripe.SubscriptionUpdateParams | null {
  if (hasEnded(subscription.status)) return null
  if (end === 'now') return 'cancel'
  if (endsWithPeriod(subscription) === (end === 'with its period')) return null
  if (end === 'with its period') return { cancel_at_period_end: true }
  return subscription.cancel_at_period_end ? { cancel_at_period_end: false } : { cancel_at: '' }
}
