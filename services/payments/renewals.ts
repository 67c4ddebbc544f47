// Scheduled payment tasks: renewals and their retries, expiring sessions, slow payments, and the disputes of
// the sandbox. Tasks run one at a time in the order of their due time on the payment clock, each found by an
// index and in its own transaction. Several processes may run at once: the second one to lock a task finds
// that it is no longer due.
import type { Db, Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import { paymentsNow } from './clock.ts'
import { insertOrder } from './orders.ts'
import {
  applyPayment,
  cancelOrder,
  cancelSubscriptionAndOrder,
  cancelSubscriptionNow,
  emitSubscriptionUpdated,
  expireCheckout,
  failPayment,
  lockOrder,
  payIfFree,
  type LockedOrder,
} from './settle.ts'
import type { PaymentServices } from './gateway.ts'
import { continueDispute } from './sandbox/disputes.ts'
import {
  startNextPeriod,
  lockSubscription,
  type OwnedSubscription,
  type SandboxCard,
} from './subscriptions.ts'

/**
 * Days after the start of a period on which a failed renewal is retried. After the last one it is canceled.
 */
export const retryDays = [1, 3, 5, 9, 14]

export interface DueTask {
  kind: 'payment' | 'checkout' | 'subscription' | 'dispute'
  id: string
  at: Date
}

/**
 * The first task that is due now, or at `at`, excluding the ids in `except`; null if none is. One statement.
 */
export async function nextDueTask(
  db: Db,
  { at, except = [] }: { at?: Date; except?: string[] } = {},
): Promise<DueTask | null> {
  const due = await sql.findDueTask(db, { at: at ?? null, except })
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
    card,
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
  if (cancelAtPeriodEnd || (await isAbandoned(tx, id)))
    await cancelSubscriptionAndOrder(tx, services, subscription, at)
  else if (status === 'past_due') await retryRenewal(tx, services, subscription, at)
  else await renew(tx, services, subscription, at)
}

/**
 * True if the subscription's owner or project is deleted. An owner who only left the project does not count:
 * the subscription stays with the project.
 */
export async function isAbandoned(tx: Transaction, id: string): Promise<boolean> {
  return (await sql.readAbandoned(tx, { id })).abandoned
}

/**
 * Creates the order of the next period and charges the card. Archived prices still renew for existing
 * subscribers.
 */
async function renew(
  tx: Transaction,
  services: PaymentServices,
  before: OwnedSubscription,
  at: Date,
): Promise<void> {
  const { id, price_id: priceId, quantity, project_id: projectId, owner_id: ownerId, metadata } = before
  const price = await sql.readPriceAndProduct(tx, { id: priceId })
  const amount = price.unit_amount * quantity
  const line = { priceId, productName: price.name, quantity, unitAmount: price.unit_amount, amount }
  const order = await insertOrder(
    tx,
    { lines: [line], currency: price.currency, total: amount, now: at },
    { projectId, ownerId, metadata, subscription: { id, period: before.period + 1 } },
  )
  await services.events.emit(tx, 'order.created', order, { userId: ownerId })
  const subscription = await startNextPeriod(tx, id, order.id)
  const locked = { order, subscription, checkout: null }
  const changed = (await charge(tx, services, locked, before.card, at))
    ? await sql.setDueAtPeriodEnd(tx, { id })
    : await scheduleRetry(tx, subscription)
  await emitSubscriptionUpdated(tx, services.events, before, changed)
}

/** Charges a past-due order again. Cancels the subscription and the order after the last retry. */
async function retryRenewal(
  tx: Transaction,
  services: PaymentServices,
  subscription: OwnedSubscription,
  at: Date,
): Promise<void> {
  const locked = await lockOrder(tx, subscription.latest_order_id)
  if (await charge(tx, services, locked, subscription.card, at)) return
  if (subscription.tries < retryDays.length) {
    await scheduleRetry(tx, subscription)
    return
  }
  await cancelSubscriptionNow(tx, services, subscription, at)
  await cancelOrder(tx, services, locked, at)
}

/** Charges the stored card for an order, unless its total is 0. @returns true if the payment succeeded. */
async function charge(
  tx: Transaction,
  services: PaymentServices,
  locked: LockedOrder,
  card: SandboxCard | null,
  at: Date,
): Promise<boolean> {
  const { order, subscription } = locked
  if (await payIfFree(tx, services, locked, at)) return true
  const { gateway, id } = subscription!
  const notification = { gateway, reference: null, checkoutId: null, card, at }
  if (card?.renews !== true) {
    await failPayment(tx, services, order, notification, 'card_declined')
    return false
  }
  // Roll back: otherwise the subscription would stay due and be charged and refunded again and again.
  if (!(await applyPayment(tx, services, locked, notification)))
    throw new Error(
      `Cannot charge the order ${order.id} of the subscription ${id}: the order is ${order.status}.`,
    )
  return true
}

/** Marks a subscription as past due until its next retry. */
async function scheduleRetry(tx: Transaction, { id, tries }: OwnedSubscription): Promise<OwnedSubscription> {
  return await sql.setPastDue(tx, { id, days: retryDays[tries] })
}
