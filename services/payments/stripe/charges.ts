// Charges of stored cards at Stripe: one payment intent for each payment. The job that creates it and its
// webhooks report the same outcome; the first one counts.
import type { Stripe } from 'stripe'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { settleCharge } from '../settle-charge.ts'
import { findCheckout } from '../checkouts.ts'
import { paymentsNow } from '../clock.ts'
import type { GatewayJob, PaymentServices } from '../gateway.ts'
import { failPayment, lockOrder } from '../settle.ts'
import { toStripeAmount } from './amounts.ts'
import { failureCodeOf, toPaymentCard } from './cards.ts'
import { StripeFailure, type StripeClient } from './client.ts'
import { fetchAndApply, findPaymentByReference, stripeName, type ApplyState } from './events.ts'

type Intent = Stripe.PaymentIntent
type Charge = sql.FindPendingChargeRow

/** When to check a charge in progress again, in case its webhook does not arrive. */
const recheckMs = 86_400_000

export interface ChargeOptions {
  stripe: StripeClient
  onError: (error: Error) => void
}

/** Charges the card of a pending payment. @returns when to check the outcome; null when it is final. */
export async function sendCharge(
  options: ChargeOptions,
  db: Db,
  services: PaymentServices,
  { id, reference: card }: GatewayJob,
  { repeated }: { repeated: boolean },
): Promise<Date | null> {
  let status: string | null = null
  await fetchAndApply(db, services, async () => {
    const charge = await sql.findPendingCharge(db, { id, gateway: stripeName })
    if (charge === undefined) return async () => 'applied'
    const found = await findOrCreateIntent(options, charge, { id, card: card!, repeated })
    if ('failed' in found) return failerOf(id, found.failed)
    const intent = await withOutcome(options.stripe, found)
    status = intent.status
    return applierOf(id, intent)
  })
  return status === 'processing' ? new Date(Date.now() + recheckMs) : null
}

/**
 * The payment intent of a payment. Stripe forgets idempotency keys after a day, so a repeated job first looks
 * for it. `failed` if there is none, because its order is no longer payable or Stripe refuses it: all other
 * errors leave the outcome unknown.
 */
async function findOrCreateIntent(
  { stripe, onError }: ChargeOptions,
  {
    reference,
    customer,
    payable,
    amount,
    currency,
    order_id: orderId,
    subscription_id: subscriptionId,
  }: Charge,
  { id, card, repeated }: { id: string; card: string; repeated: boolean },
): Promise<Intent | { failed: string }> {
  if (reference !== null) return await stripe.request((api) => api.paymentIntents.retrieve(reference))
  const found = repeated ? await findIntent(stripe, id, customer) : undefined
  if (found !== undefined) return found
  if (customer === null || !payable) return { failed: 'canceled' }
  const creation = stripe.request((api) =>
    api.paymentIntents.create(
      {
        amount: toStripeAmount(amount, currency),
        currency,
        customer,
        payment_method: card,
        allowed_payment_method_types: ['card'],
        off_session: true,
        confirm: true,
        metadata: { payment_id: id, order_id: orderId, subscription_id: subscriptionId! },
      },
      { idempotencyKey: `charge:${id}` },
    ),
  )
  try {
    return await creation
  } catch (error) {
    if (!(error instanceof StripeFailure) || error.retryable) throw error
    if (error.intent !== null) return error.intent
    onError(new Error(`The charge ${id} failed: ${error.message}`))
    return { failed: failureCodeOf(error.code, null) }
  }
}

/**
 * Finds the payment intent of a payment. A deleted customer has no list of them. A search may not find those
 * of the last minutes: their webhooks report them.
 */
async function findIntent(
  stripe: StripeClient,
  id: string,
  customer: string | null,
): Promise<Intent | undefined> {
  if (customer === null) {
    const query = `metadata['payment_id']:'${id}'`
    return (await stripe.request((api) => api.paymentIntents.search({ query, limit: 1 }))).data[0]
  }
  const created = await stripe.request((api) =>
    api.paymentIntents.list({ customer, limit: 100 }).autoPagingToArray({ limit: 10_000 }),
  )
  return created.find(({ metadata }) => metadata.payment_id === id)
}

/** Cancels a payment intent that waits for its customer, so that it cannot be paid later. */
async function withOutcome(stripe: StripeClient, intent: Intent): Promise<Intent> {
  if (outcomeOf(intent) !== null || intent.status === 'processing') return intent
  const { id, status } = intent
  const canceled = await stripe
    .request((api) => api.paymentIntents.cancel(id, {}, { idempotencyKey: `cancel:${id}` }))
    .catch(async (error) => {
      if (!(error instanceof StripeFailure) || error.retryable) throw error
      // It got its outcome in the meantime.
      return await stripe.request((api) => api.paymentIntents.retrieve(id))
    })
  return status === 'requires_action' && canceled.status === 'canceled'
    ? {
        ...canceled,
        last_payment_error: { code: 'authentication_required' } as Intent['last_payment_error'],
      }
    : canceled
}

/** The outcome of a payment intent; null while it has none. */
function outcomeOf({ status, last_payment_error: error }: Intent): 'succeeded' | { failed: string } | null {
  if (status === 'succeeded') return 'succeeded'
  const failed = { failed: failureCodeOf(error?.code ?? null, error?.decline_code ?? null) }
  if (status === 'canceled' || (status === 'requires_payment_method' && error !== null)) return failed
  return null
}

function applierOf(id: string, intent: Intent): ApplyState {
  return async (tx, services) => {
    const charge = await sql.findCharge(tx, { id, gateway: stripeName })
    // Other software may use the same Stripe account.
    if (charge === undefined) return 'applied'
    if (
      intent.amount !== toStripeAmount(charge.amount, charge.currency) ||
      intent.currency !== charge.currency
    )
      throw new Error(`The amount of the Stripe payment intent ${intent.id} differs from the payment ${id}.`)
    const outcome = outcomeOf(intent)
    if (outcome === null) await sql.setPaymentReference(tx, { id, gateway_reference: intent.id })
    else await settle(tx, services, { id, reference: intent.id, orderId: charge.order_id }, outcome)
    return 'applied'
  }
}

/** Fails a payment that was not sent to Stripe. */
function failerOf(id: string, code: string): ApplyState {
  return async (tx, services) => {
    const charge = await sql.findCharge(tx, { id, gateway: stripeName })
    if (charge !== undefined)
      await settle(tx, services, { id, reference: null, orderId: charge.order_id }, { failed: code })
    return 'applied'
  }
}

async function settle(
  tx: Transaction,
  services: PaymentServices,
  { id, reference, orderId }: { id: string; reference: string | null; orderId: string },
  outcome: 'succeeded' | { failed: string },
): Promise<void> {
  const locked = await lockOrder(tx, orderId)
  const at = await paymentsNow(tx)
  const notification = { id, gateway: stripeName, reference, checkoutId: null, card: null, at }
  await settleCharge(tx, services, locked, notification, outcome)
}

/**
 * Fetches a payment intent: that of a charge, or, with `attempts`, the failed attempts to pay a session. The
 * webhooks of the session report its success.
 */
export async function fetchIntent(
  stripe: StripeClient,
  id: string,
  { attempts = false } = {},
): Promise<ApplyState> {
  const intent = await stripe.request((api) => api.paymentIntents.retrieve(id))
  const { payment_id: paymentId, checkout_id: checkoutId } = intent.metadata
  if (paymentId !== undefined) return applierOf(paymentId, intent)
  if (checkoutId === undefined || !attempts) return async () => 'applied'
  const { data } = await stripe.request((api) => api.charges.list({ payment_intent: id, limit: 100 }))
  // Bank payments fail after their session is complete: its own webhooks report that.
  const failed = data.filter(
    ({ status, payment_method_details: details }) => status === 'failed' && details?.type === 'card',
  )
  return (tx, services) => applyAttempts(tx, services, checkoutId, failed.reverse())
}

/** Records the failed attempts of a session, each once by the id of its charge. */
async function applyAttempts(
  tx: Transaction,
  services: PaymentServices,
  checkoutId: string,
  charges: Stripe.Charge[],
): Promise<'applied'> {
  const checkout = await findCheckout(tx, checkoutId)
  if (checkout?.gateway !== stripeName) return 'applied'
  const { order } = await lockOrder(tx, checkout.order_id)
  for (const { id, failure_code: code, outcome, payment_method_details: details } of charges) {
    if ((await findPaymentByReference(tx, id)) !== undefined) continue
    const notification = {
      gateway: stripeName,
      reference: id,
      checkoutId,
      card: toPaymentCard(details!.card!),
      at: await paymentsNow(tx),
    }
    const reason = outcome?.type === 'issuer_declined' ? outcome.reason : null
    await failPayment(tx, services, order, notification, failureCodeOf(code, reason))
  }
  return 'applied'
}
