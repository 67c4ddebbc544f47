// Refunds at Stripe: partial refunds, and full refunds of late payments. Stripe forgets idempotency keys
// after a day, so a retry first looks for the refund at Stripe: no payment is refunded twice.
import type { Stripe } from 'stripe'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { paymentsNow } from '../clock.ts'
import { completeRefund } from '../refunds.ts'
import { markPaymentReturned } from '../settle.ts'
import type { PaymentServices } from '../gateway.ts'
import { toStripeAmount } from './amounts.ts'
import { StripeFailure, type StripeClient } from './client.ts'
import { fetchAndApply, type ApplyState } from './events.ts'

export interface RefundOptions {
  stripe: StripeClient
  onError: (error: Error) => void
}

/** When to check a pending refund again, in case its webhook does not arrive. */
const recheckMs = 86_400_000

/** Sends a pending refund to Stripe. @returns when to check its outcome, or null when the refund is final. */
export async function sendRefund(
  options: RefundOptions,
  db: Db,
  services: PaymentServices,
  id: string,
  { repeated }: { repeated: boolean },
): Promise<Date | null> {
  const refund = await sql.findPendingRefund(db, { id })
  if (refund === undefined) return null
  const params = {
    amount: toStripeAmount(refund.amount, refund.currency),
    metadata: { refund_id: id, order_id: refund.order_id },
  }
  const { payment, reference } = refund
  try {
    return await createOrFetchRefund(options, db, services, {
      payment,
      reference,
      params,
      key: `refund:${id}`,
      repeated,
    })
  } catch (error) {
    if (!(error instanceof StripeFailure) || error.retryable || reference !== null) throw error
    await db.transaction((tx) => failUnsentRefund(tx, services, id))
    options.onError(new Error(`The refund ${id} failed: ${error.message}`))
    return null
  }
}

/** Refunds a late payment in full. @returns when to check the outcome, or null when the refund is final. */
export async function sendLateRefund(
  options: RefundOptions,
  db: Db,
  services: PaymentServices,
  id: string,
  { repeated }: { repeated: boolean },
): Promise<Date | null> {
  const late = await sql.findLatePayment(db, { id })
  if (late === undefined) return null
  const { payment, order_id: orderId } = late
  try {
    return await createOrFetchRefund(options, db, services, {
      payment,
      reference: null,
      params: { metadata: { payment_id: id, order_id: orderId } },
      // Older versions used this key too: after an upgrade Stripe still recognizes their requests.
      key: `return:${id}`,
      repeated,
    })
  } catch (error) {
    // An operator has refunded the payment at Stripe.
    if (!(error instanceof StripeFailure) || error.code !== 'charge_already_refunded') throw error
    await db.transaction(async (tx) => markPaymentReturned(tx, id, await paymentsNow(tx)))
    return null
  }
}

interface RefundRequest {
  /** Stripe's id of the payment intent, or of the invoice that it paid. */
  payment: string
  /** Stripe's id of the refund; null if unknown. */
  reference: string | null
  params: { amount?: number; metadata: Record<string, string> }
  key: string
  repeated: boolean
}

async function createOrFetchRefund(
  options: RefundOptions,
  db: Db,
  services: PaymentServices,
  { payment, reference, params, key, repeated }: RefundRequest,
): Promise<Date | null> {
  const { stripe } = options
  let refund: Stripe.Refund | undefined
  await fetchAndApply(db, services, async () => {
    refund = reference === null ? undefined : await stripe.request((api) => api.refunds.retrieve(reference))
    if (refund === undefined) {
      const paid = await findStripePayment(stripe, payment)
      if (repeated)
        refund = (
          await stripe.request((api) =>
            api.refunds.list({ ...paid, limit: 100 }).autoPagingToArray({ limit: 10_000 }),
          )
        ).find(({ metadata }) => includesMetadata(metadata, params.metadata))
      refund ??= await stripe.request((api) =>
        api.refunds.create({ ...paid, ...params }, { idempotencyKey: key }),
      )
    }
    return applierFor(options, refund)
  })
  return refund!.status === 'pending' || refund!.status === 'requires_action'
    ? new Date(Date.now() + recheckMs)
    : null
}

function includesMetadata(metadata: Stripe.Metadata | null, expected: Record<string, string>): boolean {
  return Object.entries(expected).every(([name, value]) => metadata?.[name] === value)
}

/** The payment intent or charge to refund. For an invoice, it is the one that paid the invoice. */
async function findStripePayment(
  stripe: StripeClient,
  reference: string,
): Promise<{ payment_intent: string } | { charge: string }> {
  if (!reference.startsWith('in_')) return { payment_intent: reference }
  const { payments } = await stripe.request((api) =>
    api.invoices.retrieve(reference, { expand: ['payments'] }),
  )
  const paid = payments?.data.find(({ status }) => status === 'paid')?.payment
  if (paid?.payment_intent !== undefined) return { payment_intent: idOf(paid.payment_intent) }
  if (paid?.charge !== undefined) return { charge: idOf(paid.charge) }
  throw new StripeFailure(`The invoice ${reference} was paid outside of Stripe.`, {
    code: 'no_payment',
    retryable: false,
    retryAfter: null,
  })
}

function idOf(found: string | { id: string }): string {
  return typeof found === 'string' ? found : found.id
}

/** Fetches a refund. */
export async function fetchRefund(options: RefundOptions, id: string): Promise<ApplyState> {
  return applierFor(options, await options.stripe.request((api) => api.refunds.retrieve(id)))
}

function applierFor({ onError }: RefundOptions, { id, metadata, status }: Stripe.Refund): ApplyState {
  const { refund_id: refundId, payment_id: paymentId } = metadata ?? {}
  const succeeded = status === 'succeeded'
  const failed = status === 'failed' || status === 'canceled'
  return async (tx, services) => {
    const at = await paymentsNow(tx)
    const before = await sql.findRefundStatus(tx, { id: refundId ?? paymentId ?? '' })
    // Other software may use the same Stripe account.
    if (before === undefined) return 'applied'
    if (refundId !== undefined) {
      await sql.setRefundReference(tx, { id: refundId, gateway_reference: id })
      if (succeeded || failed) await completeRefund(tx, services, refundId, { succeeded, reference: id, at })
    } else if (succeeded) await markPaymentReturned(tx, paymentId, at)
    // A bank may reject a refund days after it succeeded: an operator must contact the customer.
    if (failed && before.status !== 'pending' && before.status !== 'failed')
      tx.afterCommit(() =>
        onError(
          new Error(
            `The Stripe refund ${id} failed: ${refundId ?? paymentId} has the status ${before.status}, ` +
              'but the customer did not receive the money.',
          ),
        ),
      )
    return 'applied'
  }
}

/**
 * Fails a refund that does not exist at Stripe. A refund that exists there continues, and its webhook
 * completes it.
 */
async function failUnsentRefund(tx: Transaction, services: PaymentServices, id: string): Promise<void> {
  if ((await sql.findUnsentRefund(tx, { id })) !== undefined)
    await completeRefund(tx, services, id, { succeeded: false, reference: null, at: await paymentsNow(tx) })
}
