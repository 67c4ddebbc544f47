// Subscriptions that Stripe bills: those that version 1.12 and before began there. Its invoices become
// orders, and its periods and statuses are copied.
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { paymentsNow } from '../clock.ts'
import { cancelOrder, cancelSubscriptionNow, lockOrder } from '../settle.ts'
import { emitSubscriptionUpdated } from '../subscription-events.ts'
import type { PaymentServices } from '../gateway.ts'
import {
  setCancelAtPeriodEnd,
  findSubscription,
  isAbandoned,
  lockSubscription,
  toSubscription,
  type OwnedSubscription,
} from '../subscriptions.ts'
import type { StripeClient } from './client.ts'
import { applyInvoices, type SubscriptionInvoices } from './invoices.ts'
import {
  cancellationOf,
  cancelsAtPeriodEnd,
  hasEnded,
  periodOf,
  runningStatusOf,
  type Cancellation,
  type Invoice,
} from './mapping.ts'
import { stripeName, type ApplyState } from './events.ts'

/** A subscription as fetched from Stripe, with all invoices that may be new. */
interface FetchedSubscription extends SubscriptionInvoices {
  fetchedAt: Date
  /** The cancellation state that was sent to Stripe just before; null if none was. */
  sent: Cancellation | null
  /** Stripe has reported that the trial ends soon. */
  trialWillEnd: boolean
}

interface FetchOptions {
  invoice?: Invoice | null
  sent?: Cancellation | null
  trialWillEnd?: boolean
}

/**
 * Fetches a subscription and its invoices.
 * @param options.invoice an invoice to include, which may be older.
 */
export async function fetchSubscription(
  stripe: StripeClient,
  db: Db,
  id: string,
  { invoice = null, sent = null, trialWillEnd = false }: FetchOptions = {},
): Promise<ApplyState> {
  const since = (await sql.findStartOfNewInvoices(db, { gateway_reference: id }))?.since ?? null
  const fetchedAt = await paymentsNow(db)
  const subscription = await stripe.request((api) => api.subscriptions.retrieve(id))
  const invoices = await stripe.request((api) =>
    api.invoices
      .list({ subscription: id, limit: 100, ...(since !== null && { created: { gte: since } }) })
      .autoPagingToArray({ limit: 10_000 }),
  )
  if (invoice !== null && !invoices.some((listed) => listed.id === invoice.id)) invoices.push(invoice)
  invoices.sort((a, b) => a.created - b.created)
  const fetched = { fetchedAt, subscription, invoices, sent, trialWillEnd }
  return (tx, services) => applySubscription(tx, services, fetched)
}

/** Fetches the subscription of an invoice. Applies nothing for an invoice without a subscription. */
export async function fetchInvoice(stripe: StripeClient, db: Db, id: string): Promise<ApplyState> {
  const invoice = await stripe.request((api) => api.invoices.retrieve(id))
  const subscription = invoice.parent?.subscription_details?.subscription
  if (subscription === undefined) return async () => 'applied'
  const subscriptionId = typeof subscription === 'string' ? subscription : subscription.id
  return await fetchSubscription(stripe, db, subscriptionId, { invoice })
}

async function applySubscription(
  tx: Transaction,
  services: PaymentServices,
  fetched: FetchedSubscription,
): Promise<'applied' | 'fetch again'> {
  const id = fetched.subscription.metadata.subscription_id
  const before = id === undefined ? undefined : await lockSubscription(tx, id)
  // Other software may use the same Stripe account.
  if (before?.gateway !== stripeName) return 'applied'
  if (before.gateway_reference !== null && before.gateway_reference !== fetched.subscription.id)
    throw new Error(
      `The Stripe subscription ${fetched.subscription.id} has the metadata of ${id}, ` +
        `which belongs to ${before.gateway_reference}.`,
    )
  const version = await recordSync(tx, services, before, fetched)
  if (version === 'fetch again') return version
  const at = await paymentsNow(tx)
  const isLatest = version === 'latest'
  const announced = await applyInvoices(tx, services, before, fetched, { at, isLatest })
  if (isLatest) await copyStripeState(tx, announced, fetched, at)
  await applyCancellation(tx, services, announced, fetched, { at, isLatest })
  if (isLatest && fetched.trialWillEnd) await announceTrialEnd(tx, services, before.id, fetched)
  return 'applied'
}

/** Emits `subscription.trial_will_end` once for each end of a trial, however often Stripe reports it. */
async function announceTrialEnd(
  tx: Transaction,
  { events }: PaymentServices,
  id: string,
  { subscription: { trial_end: trialEnd } }: FetchedSubscription,
): Promise<void> {
  const current = (await findSubscription(tx, id))!
  if (current.status !== 'trialing' || trialEnd === null) return
  const notice = { id: `trial_will_end:${id}:${trialEnd}`, type: 'trial_will_end' }
  if ((await sql.insertGatewayEvent(tx, notice)) === undefined) return
  await events.emit(tx, 'subscription.trial_will_end', toSubscription(current), { userId: current.owner_id })
}

/**
 * Records the time of the fetched state if it is the latest. All state is outdated while a cancellation is
 * pending. Two states of the same time have no known order: `fetch again`.
 */
async function recordSync(
  tx: Transaction,
  { gateways }: PaymentServices,
  subscription: OwnedSubscription,
  { fetchedAt, subscription: stripeSubscription, sent }: FetchedSubscription,
): Promise<'latest' | 'outdated' | 'fetch again'> {
  if (sent !== null && sent !== cancellationOf(subscription)) {
    // The cancellation changed while it was sent to Stripe: send it again.
    await gateways.of(stripeName).syncCancellation(tx, subscription)
    return 'outdated'
  }
  const { id } = subscription
  const recorded = await sql.setSynced(tx, {
    id,
    synced_at: fetchedAt,
    gateway_reference: stripeSubscription.id,
    cancellation_sent: sent !== null,
  })
  if (recorded !== undefined) return 'latest'
  const isSameTime = (await sql.findSynced(tx, { id, synced_at: fetchedAt })) !== undefined
  return isSameTime ? 'fetch again' : 'outdated'
}

/** Copies the period, the status and the scheduled cancellation. */
async function copyStripeState(
  tx: Transaction,
  { id, status, cancel_at_period_end: atPeriodEnd }: OwnedSubscription,
  { subscription }: FetchedSubscription,
  at: Date,
): Promise<void> {
  if (status === 'canceled') return
  const { start, end } = periodOf(subscription)
  await sql.setPeriodDates(tx, { id, period_start: start, period_end: end })
  if (cancelsAtPeriodEnd(subscription) !== atPeriodEnd)
    await setCancelAtPeriodEnd(tx, id, { canceledAt: atPeriodEnd ? null : at })
  const newStatus = runningStatusOf(subscription)
  if (newStatus !== null) await sql.setSubscriptionStatus(tx, { id, status: newStatus })
}

/**
 * Cancels a subscription that ended at Stripe or is abandoned, with its pending orders; else emits its
 * changes.
 * @param announced the subscription as its last event showed it.
 */
async function applyCancellation(
  tx: Transaction,
  services: PaymentServices,
  announced: OwnedSubscription,
  { sent, subscription }: FetchedSubscription,
  { at, isLatest }: { at: Date; isLatest: boolean },
): Promise<void> {
  const { id } = announced
  const current = (await findSubscription(tx, id))!
  const wasCanceled = current.status === 'canceled'
  const endedAtStripe = isLatest && hasEnded(subscription.status)
  const cancels = !wasCanceled && (endedAtStripe || (sent === null && (await isAbandoned(tx, id))))
  if (cancels) await cancelSubscriptionNow(tx, services, announced, at, { canceledByGateway: endedAtStripe })
  else if (JSON.stringify(toSubscription(current)) !== JSON.stringify(toSubscription(announced)))
    await emitSubscriptionUpdated(tx, services.events, announced, current)
  if (!cancels && !wasCanceled) return
  for (const order of await sql.listPendingOrders(tx, { subscription_id: id }))
    await cancelOrder(tx, services, await lockOrder(tx, order.id), at)
  // The subscription was paid at Stripe after it was canceled here: cancel it there too.
  if (wasCanceled && isLatest && !endedAtStripe && sent === null)
    await services.gateways.of(stripeName).syncCancellation(tx, current)
}
