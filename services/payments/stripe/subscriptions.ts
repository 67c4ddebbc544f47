// Subscriptions at Stripe, which renews them itself. Its invoices become orders, and its periods and statuses
// are copied.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { paymentsNow } from '../clock.ts'
import { isAbandoned } from '../renewals.ts'
import { cancelOrder, cancelSubscriptionNow, emitSubscriptionUpdated, lockOrder } from '../settle.ts'
import type { PaymentServices } from '../gateway.ts'
import {
  setCancelAtPeriodEnd,
  subscriptionById,
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
  statusByStripeStatus,
  type Cancellation,
  type Invoice,
} from './mapping.ts'
import { stripeName, type ApplyState } from './events.ts'

/** A subscription as fetched from Stripe, with all invoices that may be new. */
interface FetchedSubscription extends SubscriptionInvoices {
  fetchedAt: Date
  /** The cancellation state that was sent to Stripe just before; null if none was. */
  sent: Cancellation | null
}

// One period and one day before the known period: Stripe creates an invoice at the start of its period.
const newInvoicesSince = statement<{ since: number | null }>(`
  SELECT floor(extract(epoch
    FROM period_start - (period_end - period_start) - interval '1 day'))::bigint AS since
  FROM subscriptions WHERE gateway_reference = $1`)

/**
 * Fetches a subscription and its invoices.
 * @param options.invoice an invoice to include, which may be older.
 */
export async function fetchSubscription(
  stripe: StripeClient,
  db: Db,
  id: string,
  { invoice = null, sent = null }: { invoice?: Invoice | null; sent?: Cancellation | null } = {},
): Promise<ApplyState> {
  const since = (await db.sql(newInvoicesSince, [id]))[0]?.since ?? null
  const fetchedAt = await paymentsNow(db)
  const subscription = await stripe.request((api) => api.subscriptions.retrieve(id))
  const invoices = await stripe.request((api) =>
    api.invoices
      .list({ subscription: id, limit: 100, ...(since !== null && { created: { gte: since } }) })
      .autoPagingToArray({ limit: 10_000 }),
  )
  if (invoice !== null && !invoices.some((listed) => listed.id === invoice.id)) invoices.push(invoice)
  invoices.sort((a, b) => a.created - b.created)
  return (tx, services) => applySubscription(tx, services, { fetchedAt, subscription, invoices, sent })
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
  tx: Db,
  services: PaymentServices,
  fetched: FetchedSubscription,
): Promise<'applied' | 'fetch again'> {
  const id = fetched.subscription.metadata.subscription_id
  const before = id === undefined ? undefined : await subscriptionById(tx, id, { lock: true })
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
  return 'applied'
}

const setSynced = statement<{ id: string }>(`
  UPDATE subscriptions SET synced_at = $2, sync_pending = false,
    gateway_reference = coalesce(gateway_reference, $3)
  WHERE id = $1 AND CASE WHEN sync_pending THEN $4 ELSE synced_at IS NULL OR synced_at < $2 END RETURNING id`)
const syncedAt = statement<{ id: string }>(
  'SELECT id FROM subscriptions WHERE id = $1 AND synced_at = $2 AND NOT sync_pending',
)

/**
 * Records the time of the fetched state if it is the latest. All state is outdated while a cancellation is
 * pending. Two states of the same time have no known order: `fetch again`.
 */
async function recordSync(
  tx: Db,
  { gateways }: PaymentServices,
  subscription: OwnedSubscription,
  { fetchedAt, subscription: { id }, sent }: FetchedSubscription,
): Promise<'latest' | 'outdated' | 'fetch again'> {
  if (sent !== null && sent !== cancellationOf(subscription)) {
    // The cancellation changed while it was sent to Stripe: send it again.
    await gateways.of(stripeName).syncCancellation(tx, subscription)
    return 'outdated'
  }
  if ((await tx.sql(setSynced, [subscription.id, fetchedAt, id, sent !== null])).length === 1) return 'latest'
  return (await tx.sql(syncedAt, [subscription.id, fetchedAt])).length === 1 ? 'fetch again' : 'outdated'
}

const setPeriod = statement(
  'UPDATE subscriptions SET period_start = $2, period_end = $3 WHERE id = $1 AND period > 0',
)
const setStatus = statement(`
  UPDATE subscriptions SET status = $2::"SubscriptionStatus"
  WHERE id = $1 AND status IN ('active', 'past_due')`)
const pendingOrderIds = statement<{ id: string }>(
  "SELECT id FROM orders WHERE subscription_id = $1 AND status = 'pending' ORDER BY id",
)

/** Copies the period, the status and the scheduled cancellation. */
async function copyStripeState(
  tx: Db,
  { id, status, cancel_at_period_end: atPeriodEnd }: OwnedSubscription,
  { subscription }: FetchedSubscription,
  at: Date,
): Promise<void> {
  if (status === 'canceled') return
  const { start, end } = periodOf(subscription)
  await tx.sql(setPeriod, [id, start, end])
  if (cancelsAtPeriodEnd(subscription) !== atPeriodEnd)
    await setCancelAtPeriodEnd(tx, id, { canceledAt: atPeriodEnd ? null : at })
  const newStatus = statusByStripeStatus[subscription.status]
  if (newStatus !== undefined) await tx.sql(setStatus, [id, newStatus])
}

/**
 * Cancels a subscription that ended at Stripe or is abandoned, with its pending orders; else emits its
 * changes.
 * @param announced the subscription as its last event showed it.
 */
async function applyCancellation(
  tx: Db,
  services: PaymentServices,
  announced: OwnedSubscription,
  { sent, subscription }: FetchedSubscription,
  { at, isLatest }: { at: Date; isLatest: boolean },
): Promise<void> {
  const { id } = announced
  const current = (await subscriptionById(tx, id))!
  const wasCanceled = current.status === 'canceled'
  const endedAtStripe = isLatest && hasEnded(subscription.status)
  const cancels = !wasCanceled && (endedAtStripe || (sent === null && (await isAbandoned(tx, id))))
  if (cancels) await cancelSubscriptionNow(tx, services, announced, at, { canceledByGateway: endedAtStripe })
  else if (JSON.stringify(toSubscription(current)) !== JSON.stringify(toSubscription(announced)))
    await emitSubscriptionUpdated(tx, services.events, announced, current)
  if (!cancels && !wasCanceled) return
  for (const order of await tx.sql(pendingOrderIds, [id]))
    await cancelOrder(tx, services, await lockOrder(tx, order.id), at)
  // The subscription was paid at Stripe after it was canceled here: cancel it there too.
  if (wasCanceled && isLatest && !endedAtStripe && sent === null)
    await services.gateways.of(stripeName).syncCancellation(tx, current)
}
