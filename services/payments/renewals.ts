// Scheduled payment tasks: renewals and their retries, expiring sessions, slow payments, and the disputes of
// the sandbox. Tasks run one at a time in the order of their due time on the payment clock, each found by an
// index and in its own transaction. Several processes may run at once: the second one to lock a task finds
// that it is no longer due.
import type { Db, Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import { paymentsNow } from './clock.ts'
import { changeItems } from './apply-change.ts'
import { cancelChange, dropChange } from './change-subscription.ts'
import { chargeOrder, insertCreditedOrder } from './charge.ts'
import { endSubscription } from './cancel-subscription.ts'
import { afterFailedRetry, scheduleRetry } from './dunning.ts'
import { maxOrderAmount } from './currency.ts'
import { owedLine, priceItems, totalOf } from './orders.ts'
import { unpauseSubscription } from './pause-subscription.ts'
import { isSellable } from './sales.ts'
import {
  applyPayment,
  cancelSubscriptionAndOrder,
  expireCheckout,
  failPayment,
  lockOrder,
  type LockedOrder,
} from './settle.ts'
import type { PaymentServices } from './gateway.ts'
import { continueDispute } from './sandbox/disputes.ts'
import { toNewCard } from './sandbox/gateway.ts'
import { emitSubscriptionUpdated } from './subscription-events.ts'
import { chargeUsage, countUsage, deferSmall, readDueUsage } from './usage-billing.ts'
import {
  isAbandoned,
  startNextPeriod,
  lockSubscription,
  toSubscription,
  type OwnedSubscription,
} from './subscriptions.ts'

export interface DueTask {
  kind: 'payment' | 'checkout' | 'subscription' | 'dispute'
  id: string
  at: Date
}

/**
 * The first task that is due now, or at `at`, excluding the ids in `except`; null if none is. One statement.
 * With `customerId`, the first of this customer, and `at` is the customer's time, as in the result.
 */
export async function nextDueTask(
  db: Db,
  { at, customerId, except = [] }: { at?: Date; customerId?: string | null; except?: string[] } = {},
): Promise<DueTask | null> {
  const due =
    customerId == null
      ? await sql.findDueTask(db, { at: at ?? null, except })
      : await sql.findDueTaskOfCustomer(db, { at: at ?? null, customer_id: customerId, except })
  return due === undefined ? null : { ...due, at: new Date(due.at) }
}

/** Runs a task in a transaction. Does nothing if the task is no longer due. */
export async function runDueTask(db: Db, services: PaymentServices, { kind, id }: DueTask): Promise<void> {
  const run = {
    payment: finishSlowPayment,
    checkout: expireDueCheckout,
    subscription: renewOrCancel,
    dispute: continueDispute,
  }[kind]
  await db.transaction((tx) => run(tx, services, id))
}

async function finishSlowPayment(tx: Transaction, services: PaymentServices, id: string): Promise<void> {
  const payment = await sql.findDuePayment(tx, { id })
  if (payment === undefined) return
  const { order_id: orderId, checkout_id: checkoutId, gateway, card } = payment
  const locked = await lockOrder(tx, orderId)
  await applyPayment(
    tx,
    services,
    locked,
    { id, gateway, reference: null, checkoutId, card, at: await paymentsNow(tx) },
    card && toNewCard(card),
  )
}

async function expireDueCheckout(tx: Transaction, services: PaymentServices, id: string): Promise<void> {
  const { order_id: orderId } = await sql.readOrderOfCheckout(tx, { id })
  const locked = await lockOrder(tx, orderId)
  // While this transaction waited for the locks, the session may have been paid or got a page at its gateway.
  const due = await sql.findDueCheckout(tx, { id })
  if (due !== undefined) await expireCheckout(tx, services, locked, id, new Date(due.now))
}

async function renewOrCancel(tx: Transaction, services: PaymentServices, id: string): Promise<void> {
  const subscription = (await lockSubscription(tx, id))!
  const { status, due_at: dueAt, cancel_at_period_end: cancelAtPeriodEnd } = subscription
  const at = await paymentsNow(tx)
  if (dueAt === null || new Date(dueAt) > at) return
  const isEarly = new Date(subscription.current_period_end ?? 0) > at
  if (status === 'incomplete' || (await isAbandoned(tx, id)))
    await cancelSubscriptionAndOrder(tx, services, subscription, at)
  else if (status === 'paused') await unpauseSubscription(tx, services, subscription)
  else if (status === 'trialing' && isEarly) await announceTrialEnd(tx, services, subscription)
  else if (status === 'active' && isEarly && subscription.change_terms !== null)
    await cancelChange(tx, services, subscription)
  else if (cancelAtPeriodEnd) await endSubscription(tx, services, subscription, at)
  else if (status === 'past_due') await retryRenewal(tx, services, subscription, at)
  else await renew(tx, services, subscription, at)
}

/** Emits `subscription.trial_will_end` three days before the trial ends. */
async function announceTrialEnd(
  tx: Transaction,
  { events }: PaymentServices,
  subscription: OwnedSubscription,
): Promise<void> {
  const { id, owner_id: userId, cancel_at_period_end: ends } = subscription
  await sql.setDueAtTrialEnd(tx, { id })
  if (!ends) await events.emit(tx, 'subscription.trial_will_end', toSubscription(subscription), { userId })
}

/**
 * Makes the change that was scheduled for the end of the period, creates the order of the next one, with the
 * usage of this one, and charges the card. Archived prices still renew for existing subscribers.
 */
async function renew(
  tx: Transaction,
  services: PaymentServices,
  before: OwnedSubscription,
  at: Date,
): Promise<void> {
  const { id, metadata, owed_amount: owed } = before
  const periodEnd = new Date(before.current_period_end!)
  const { items } = await changeAtPeriodEnd(tx, services, before, at)
  const { lines, currency } = await priceItems(tx, items, { recurring: true, kept: items })
  const others = totalOf(lines) + owed
  const usage = await readDueUsage(tx, services, before, { at: periodEnd, room: maxOrderAmount - others })
  const minimum = services.gateways.current.minimumOf(currency)
  const due = deferSmall(usage, others + totalOf(usage.lines), minimum)
  // The gateway refuses a charge below its minimum. What is owed alone waits for the next order.
  const isSmall = owed > 0 && others + totalOf(due.lines) < minimum
  if (owed > 0 && !isSmall) lines.push(owedLine(lines[0].priceId, owed))
  lines.push(...due.lines)
  await chargeUsage(tx, services, due.charged, at)
  const period = before.period + 1
  const order = await insertCreditedOrder(tx, services, before, { lines, currency, period, metadata, at })
  const subscription = await startNextPeriod(tx, id, { orderId: order.id, owed: isSmall ? owed : 0 })
  await countUsage(tx, { ...subscription, status: 'active' }, periodEnd)
  const locked = { order, subscription, checkout: null }
  const next = {
    paid: () => sql.setDueAtPeriodEnd(tx, { id }),
    pending: () => sql.awaitCharge(tx, { id }),
    failed: () => scheduleRetry(tx, services, subscription),
  }
  const changed = await next[await charge(tx, services, locked, at)]()
  await emitSubscriptionUpdated(tx, services.events, before, changed)
}

/** @returns the subscription with the items of the next period. */
async function changeAtPeriodEnd(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<OwnedSubscription> {
  const { scheduled_change: change, items: current, gateway, seller_organization_id: seller } = subscription
  if (change === null) return subscription
  if (change.order_id !== null) return await dropChange(tx, services, subscription)
  const { items } = change
  const { interval } = await priceItems(tx, current, { recurring: true, kept: current })
  const next = await priceItems(tx, items, { recurring: true, kept: items })
  const { gateways } = services
  const newGateway = gateways.forChange(gateway, next)
  // The gateway can be another one than when the change was scheduled.
  if (newGateway.name !== gateway && !isSellable(gateways, seller ?? null, newGateway))
    return await dropChange(tx, services, subscription)
  return await changeItems(tx, subscription, {
    items,
    gateway: newGateway.name,
    reAnchors: next.interval !== interval,
    at,
  })
}

/** Charges a past-due order again. */
async function retryRenewal(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<void> {
  const locked = await lockOrder(tx, subscription.latest_order_id)
  const outcome = await charge(tx, services, locked, at)
  if (outcome === 'pending') await sql.awaitCharge(tx, { id: subscription.id })
  else if (outcome === 'failed') await afterFailedRetry(tx, services, subscription, at)
}

/** Charges the stored card for the order of a period. */
async function charge(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder,
  at: Date,
): Promise<'paid' | 'pending' | 'failed'> {
  const { gateway } = locked.subscription!
  const outcome = await chargeOrder(tx, services, locked, { gateway, at })
  if (outcome === 'no card')
    await failPayment(
      tx,
      services,
      locked.order,
      { gateway, reference: null, checkoutId: null, card: null, at },
      'payment_method_required',
    )
  return outcome === 'paid' || outcome === 'pending' ? outcome : 'failed'
}
