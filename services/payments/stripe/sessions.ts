// Checkout sessions at Stripe. A session is created there when a customer first opens its page, and expired
// there when it closes here. Its outcome is fetched from Stripe.
import type { Stripe } from 'stripe'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import type { Queue } from '../../../infra/jobs/queue.ts'
import { redirectUrl, findCheckout, type OwnedCheckout } from '../checkouts.ts'
import { paymentsNow, testClock } from '../clock.ts'
import type { GatewayJob, PaymentServices } from '../gateway.ts'
import { findOrder, type OwnedOrder } from '../orders.ts'
import { expireCheckout, failPayment, recordPaymentAttempt, lockOrder, type PaymentCard } from '../settle.ts'
import { toStripeAmount } from './amounts.ts'
import { cardOf, newCardOf, stripeCustomerOf } from './cards.ts'
import { asUnavailable, StripeFailure, type StripeClient } from './client.ts'
import { fetchSubscription } from './subscriptions.ts'
import {
  fetchAndApply,
  findPaymentByReference,
  applyStripePayment,
  stripeName,
  type ApplyState,
} from './events.ts'

type Session = Stripe.Checkout.Session

// Stripe accepts an expiry of 30 minutes to 24 hours after creation. The margins allow for clock differences.
const minLifetimeMs = 33 * 60_000
const maxLifetimeMs = 86_400_000 - 120_000

/** The expiry of a session at Stripe. At most two values per session, each with its own idempotency key. */
function expiryOf(
  checkout: OwnedCheckout,
  { now, offset }: { now: number; offset: number },
): { at: number; key: string } {
  const created = new Date(checkout.created_at).getTime() - offset
  const expires = new Date(checkout.expires_at).getTime() - offset
  // Stripe's minimum may exceed the time left. A job expires the session at Stripe when it expires here.
  if (expires - now < minLifetimeMs) return { at: expires + minLifetimeMs, key: `${checkout.id}:late` }
  return { at: Math.min(expires, created + maxLifetimeMs), key: checkout.id }
}

function lineItems(order: OwnedOrder): Stripe.Checkout.SessionCreateParams.LineItem[] {
  const { currency, number, items: sold, credit_amount: credit, total_amount: total } = order
  // Stripe has no lines below zero: what a credit leaves of the sum is one line.
  const items = credit === 0 ? sold : [{ description: `Order ${number}`, quantity: 1, unit_amount: total }]
  return items.map(({ description, quantity, unit_amount: unitAmount }) => ({
    quantity,
    price_data: {
      currency,
      unit_amount: toStripeAmount(unitAmount, currency),
      product_data: { name: description },
    },
  }))
}

/** Milliseconds that the payment clock is ahead of real time. */
async function clockOffset(db: Db): Promise<number> {
  return (await testClock(db)).offset_seconds * 1000
}

interface CreatedSession {
  id: string
  url: string
}

/**
 * Creates the session at Stripe. Idempotent by its key. The card that pays for a subscription is stored for
 * its customer, so that other methods are not accepted.
 */
async function createSession(
  stripe: StripeClient,
  db: Db,
  checkout: OwnedCheckout,
  order: OwnedOrder,
): Promise<CreatedSession> {
  const { at, key } = expiryOf(checkout, { now: Date.now(), offset: await clockOffset(db) })
  const metadata = {
    checkout_id: checkout.id,
    order_id: order.id,
    ...(checkout.subscription_id !== null && { subscription_id: checkout.subscription_id }),
  }
  const storesCard = order.subscription_id !== null
  const customer = storesCard ? await stripeCustomerOf(stripe, db, order.customer_id!) : undefined
  const { id, url } = await stripe.request((api) =>
    api.checkout.sessions.create(
      {
        mode: 'payment',
        line_items: lineItems(order),
        client_reference_id: checkout.id,
        metadata,
        ...(storesCard && { customer, allowed_payment_method_types: ['card'] }),
        payment_intent_data: { metadata, ...(storesCard && { setup_future_usage: 'off_session' }) },
        success_url: `${checkout.url}/return`,
        cancel_url: redirectUrl(checkout, 'cancel'),
        expires_at: Math.floor(at / 1000),
      },
      // Version 1.12 and before created other sessions with the key `checkout:`.
      { idempotencyKey: `${storesCard ? 'card_checkout' : 'checkout'}:${key}` },
    ),
  )
  if (url === null) throw new Error(`The Stripe session ${id} has no URL.`)
  return { id, url }
}

/**
 * Stores the Stripe session of an open checkout that has none, and enqueues its expiry.
 * @returns the URL of the stored session; null if the checkout is not open.
 */
async function saveSession(
  tx: Transaction,
  jobs: Queue<GatewayJob>,
  checkout: OwnedCheckout,
  { id, url }: CreatedSession,
): Promise<string | null> {
  const job: GatewayJob = { task: 'close', id: checkout.id, tries: 0 }
  const stored = await sql.setGatewaySession(tx, {
    id: checkout.id,
    gateway_reference: id,
    gateway_url: url,
  })
  if (stored !== undefined) {
    const startAfter = new Date(new Date(checkout.expires_at).getTime() - (await clockOffset(tx)))
    await jobs.add(tx, [{ data: job, group: checkout.id, startAfter }])
    return url
  }
  const current = (await findCheckout(tx, checkout.id))!
  // A concurrent request stored another session, or the checkout closed: expire this one, which no one has
  // seen.
  if (current.gateway_reference !== id)
    await jobs.add(tx, [{ data: { ...job, reference: id }, group: checkout.id }])
  return current.status === 'open' ? current.gateway_url : null
}

/**
 * The URL of Stripe's page for an open session, the same on each call. Throws 503 when Stripe cannot be
 * reached.
 */
export async function checkoutPageUrl(
  stripe: StripeClient,
  jobs: Queue<GatewayJob>,
  db: Db,
  checkout: OwnedCheckout,
  order: OwnedOrder,
): Promise<string> {
  if (checkout.gateway_url !== null) return checkout.gateway_url
  const created = await createSession(stripe, db, checkout, order).catch((error) => {
    throw asUnavailable(error)
  })
  // Without a URL, send the customer to this server's page, which explains why the session is closed.
  return (await db.transaction((tx) => saveSession(tx, jobs, checkout, created))) ?? checkout.url
}

/** What is fetched with a session. */
const expand = ['payment_intent.payment_method']

/** Fetches a session with its payment intent. */
export async function fetchSession(stripe: StripeClient, db: Db, id: string): Promise<ApplyState> {
  const session = await stripe.request((api) => api.checkout.sessions.retrieve(id, { expand }))
  return await applierFor(stripe, db, session)
}

async function applierFor(stripe: StripeClient, db: Db, session: Session): Promise<ApplyState> {
  const { subscription } = session
  if (subscription !== null)
    return await fetchSubscription(
      stripe,
      db,
      typeof subscription === 'string' ? subscription : subscription.id,
    )
  return async (tx, services) => {
    await applySession(tx, services, session)
    return 'applied'
  }
}

async function applySession(tx: Transaction, services: PaymentServices, session: Session): Promise<void> {
  const id = session.metadata?.checkout_id
  const checkout = id === undefined ? undefined : await findCheckout(tx, id)
  // Other software may use the same Stripe account.
  if (checkout?.gateway !== stripeName || session.status === 'open') return
  if (session.status === 'expired') return await applyExpiredSession(tx, services, session, checkout)
  const intent = session.payment_intent
  if (intent === null || typeof intent === 'string')
    throw new Error(`The Stripe session ${session.id} is complete but has no payment intent.`)
  const order = await findOrder(tx, checkout.order_id)
  if (
    session.amount_total !== toStripeAmount(order.total_amount, order.currency) ||
    session.currency !== order.currency
  )
    throw new Error(`The amount of the Stripe session ${session.id} differs from the order ${order.id}.`)
  const at = await paymentsNow(tx)
  const { payment_method: method } = intent
  const notification = { reference: intent.id, checkoutId: checkout.id, card: cardOf(method), at }
  if (session.payment_status === 'paid')
    await applyStripePayment(tx, services, order.id, notification, newCardOf(method))
  else await applyUnpaidSession(tx, services, checkout, intent, notification)
}

async function applyExpiredSession(
  tx: Transaction,
  services: PaymentServices,
  session: Session,
  { order_id: orderId, id }: OwnedCheckout,
): Promise<void> {
  const locked = await lockOrder(tx, orderId)
  if (locked.checkout?.id === id && locked.checkout.gateway_reference === session.id)
    await expireCheckout(tx, services, locked, id, await paymentsNow(tx))
}

/** Final statuses of a payment intent that did not succeed. */
const failedStatuses = new Set(['requires_payment_method', 'canceled'])

/**
 * Applies a complete but unpaid session. A processing bank payment is recorded; a failed one expires the
 * session, which Stripe does not reopen.
 */
async function applyUnpaidSession(
  tx: Transaction,
  services: PaymentServices,
  { id, order_id: orderId }: OwnedCheckout,
  intent: Stripe.PaymentIntent,
  notification: { reference: string; checkoutId: string; card: PaymentCard | null; at: Date },
): Promise<void> {
  const locked = await lockOrder(tx, orderId)
  const recorded = await findPaymentByReference(tx, intent.id)
  const payment = {
    ...notification,
    gateway: stripeName,
    ...(recorded !== undefined && { id: recorded.id }),
  }
  if (!failedStatuses.has(intent.status)) {
    if (recorded === undefined && locked.order.status === 'pending')
      await recordPaymentAttempt(tx, locked.order, payment, { status: 'processing', dueAt: null })
    return
  }
  if (recorded === undefined || recorded.status === 'processing')
    await failPayment(
      tx,
      services,
      locked.order,
      payment,
      intent.last_payment_error?.code ?? 'payment_failed',
    )
  if (locked.checkout?.id === id) await expireCheckout(tx, services, locked, id, notification.at)
}

/** Expires a session at Stripe, or applies its outcome if it is no longer open. */
export async function expireSession(
  stripe: StripeClient,
  db: Db,
  services: PaymentServices,
  { id, reference }: GatewayJob,
  key: string,
): Promise<void> {
  const checkout = await findCheckout(db, id)
  const session = reference ?? checkout?.gateway_reference ?? null
  if (session === null || (checkout?.status === 'complete' && checkout.gateway_reference === session)) return
  await fetchAndApply(db, services, async () => {
    const found = await stripe.request((api) => api.checkout.sessions.retrieve(session, { expand }))
    if (found.status !== 'open') return await applierFor(stripe, db, found)
    try {
      const expired = await stripe.request((api) =>
        api.checkout.sessions.expire(session, {}, { idempotencyKey: key }),
      )
      return await applierFor(stripe, db, expired)
    } catch (error) {
      // The session was completed in the meantime.
      if (error instanceof StripeFailure && !error.retryable) return await fetchSession(stripe, db, session)
      throw error
    }
  })
}
