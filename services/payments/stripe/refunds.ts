// Money that Stripe gives back: refunds, and whole payments that came too late to pay anything. Nothing is given back twice: before a second try
// Stripe is asked whether the first came through, because it forgets the keys of requests after a day.
import type { Stripe } from 'stripe'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { paymentsNow } from '../clock.ts'
import { concludeRefund } from '../refunds.ts'
import { paymentReturned } from '../settle.ts'
import type { SettleServices } from '../gateway.ts'
import { toStripe } from './amounts.ts'
import { StripeFailure, type StripeConnection } from './client.ts'
import { learn, type Settle } from './events.ts'

type AtStripe = Stripe.Refund

export interface RefundOptions {
  stripe: StripeConnection
  onError: (error: Error) => void
}

/** How long until it is asked again what became of money that is on its way, in case that nobody tells. */
const meanwhile = 86_400_000

const pending = statement<{
  order_id: string
  amount: number
  currency: string
  reference: string | null
  payment: string
}>(`
  SELECT r.order_id, r.amount, r.currency, r.gateway_reference AS reference, p.gateway_reference AS payment
  FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE r.id = $1 AND r.status = 'pending'`)

/** Gives back a refund that is pending. @returns when to look again, or null when it is over. */
export async function giveRefund(
  options: RefundOptions,
  db: Db,
  services: SettleServices,
  id: string,
  { repeated }: { repeated: boolean },
): Promise<Date | null> {
  const [refund] = await db.sql(pending, [id])
  if (refund === undefined) return null
  const params = {
    amount: toStripe(refund.amount, refund.currency),
    metadata: { refund_id: id, order_id: refund.order_id },
  }
  try {
    return await give(options, db, services, {
      payment: refund.payment,
      reference: refund.reference,
      params,
      key: `refund:${id}`,
      repeated,
    })
  } catch (error) {
    if (!(error instanceof StripeFailure) || error.passing || refund.reference !== null) throw error
    await db.transaction((tx) => giveUpRefund(tx, services, id))
    options.onError(new Error(`${id} is not given back: ${error.message}`))
    return null
  }
}

const returning = statement<{ order_id: string; payment: string }>(
  "SELECT order_id, gateway_reference AS payment FROM payments WHERE id = $1 AND status = 'returning'",
)

/** Gives back a payment that came too late. @returns when to look again, or null when it is over. */
export async function returnPayment(
  options: RefundOptions,
  db: Db,
  services: SettleServices,
  id: string,
  { repeated }: { repeated: boolean },
): Promise<Date | null> {
  const [payment] = await db.sql(returning, [id])
  if (payment === undefined) return null
  const params = { metadata: { payment_id: id, order_id: payment.order_id } }
  try {
    return await give(options, db, services, {
      payment: payment.payment,
      reference: null,
      params,
      key: `return:${id}`,
      repeated,
    })
  } catch (error) {
    // An operator was faster.
    if (!(error instanceof StripeFailure) || error.code !== 'charge_already_refunded') throw error
    await db.transaction(async (tx) => paymentReturned(tx, id, await paymentsNow(tx)))
    return null
  }
}

interface Giving {
  /** What Stripe calls the payment: itself, or the invoice that it was for. */
  payment: string
  /** What Stripe calls the refund, where it is known. */
  reference: string | null
  params: { amount?: number; metadata: Record<string, string> }
  key: string
  repeated: boolean
}

async function give(
  options: RefundOptions,
  db: Db,
  services: SettleServices,
  { payment, reference, params, key, repeated }: Giving,
): Promise<Date | null> {
  const { stripe } = options
  let found: AtStripe | undefined
  await learn(db, services, async () => {
    found = reference === null ? undefined : await stripe.ask((api) => api.refunds.retrieve(reference))
    if (found === undefined) {
      const of = await paymentBehind(stripe, payment)
      if (repeated)
        found = (
          await stripe.ask((api) =>
            api.refunds.list({ ...of, limit: 100 }).autoPagingToArray({ limit: 10_000 }),
          )
        ).find(({ metadata }) => isSame(metadata, params.metadata))
      found ??= await stripe.ask((api) => api.refunds.create({ ...of, ...params }, { idempotencyKey: key }))
    }
    return settlingOf(options, found)
  })
  return found!.status === 'pending' || found!.status === 'requires_action'
    ? new Date(Date.now() + meanwhile)
    : null
}

function isSame(metadata: Stripe.Metadata | null, ours: Record<string, string>): boolean {
  return Object.entries(ours).every(([name, value]) => metadata?.[name] === value)
}

/** The payment of an invoice is among its payments. */
async function paymentBehind(
  stripe: StripeConnection,
  reference: string,
): Promise<{ payment_intent: string } | { charge: string }> {
  if (!reference.startsWith('in_')) return { payment_intent: reference }
  const { payments } = await stripe.ask((api) => api.invoices.retrieve(reference, { expand: ['payments'] }))
  const paid = payments?.data.find(({ status }) => status === 'paid')?.payment
  if (paid?.payment_intent !== undefined) return { payment_intent: idOf(paid.payment_intent) }
  if (paid?.charge !== undefined) return { charge: idOf(paid.charge) }
  throw new StripeFailure(`${reference} was paid outside of Stripe`, {
    code: 'no_payment',
    passing: false,
    retryAfter: null,
  })
}

function idOf(found: string | { id: string }): string {
  return typeof found === 'string' ? found : found.id
}

/** Asks what became of a refund. */
export async function askRefund(options: RefundOptions, id: string): Promise<Settle> {
  return settlingOf(options, await options.stripe.ask((api) => api.refunds.retrieve(id)))
}

const keepReference = statement(
  'UPDATE refunds SET gateway_reference = $2 WHERE id = $1 AND gateway_reference IS NULL',
)
const statusOf = statement<{ status: string }>(
  'SELECT status::text FROM refunds WHERE id = $1 UNION ALL SELECT status::text FROM payments WHERE id = $1',
)

function settlingOf({ onError }: RefundOptions, { id, metadata, status }: AtStripe): Settle {
  const { refund_id: refundId, payment_id: paymentId } = metadata ?? {}
  const succeeded = status === 'succeeded'
  const failed = status === 'failed' || status === 'canceled'
  return async (tx, services) => {
    const at = await paymentsNow(tx)
    const [was] = await tx.sql(statusOf, [refundId ?? paymentId ?? ''])
    // Others may use the same account.
    if (was === undefined) return 'settled'
    if (refundId !== undefined) {
      await tx.sql(keepReference, [refundId, id])
      if (succeeded || failed) await concludeRefund(tx, services, refundId, { succeeded, reference: id, at })
    } else if (succeeded) await paymentReturned(tx, paymentId, at)
    // A bank may send it back days later: that is for somebody who speaks with the customer.
    if (failed && was.status !== 'pending' && was.status !== 'failed')
      tx.afterCommit(() =>
        onError(
          new Error(
            `${id} has failed at Stripe: ${refundId ?? paymentId}, which is ${was.status}, did not reach the customer`,
          ),
        ),
      )
    return 'settled'
  }
}

const unknown = statement<{ id: string }>(
  'SELECT id FROM refunds WHERE id = $1 AND gateway_reference IS NULL',
)

/** It does not begin any more. One that Stripe has begun goes on, whoever asks. */
export async function giveUpRefund(tx: Db, services: SettleServices, id: string): Promise<void> {
  if ((await tx.sql(unknown, [id])).length === 1)
    await concludeRefund(tx, services, id, { succeeded: false, reference: null, at: await paymentsNow(tx) })
}
