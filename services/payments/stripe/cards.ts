// Cards at Stripe: those of payments, the customers that they are stored for, and why they are declined.
import type { Stripe } from 'stripe'
import type { Db } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import type { NewCard } from '../payment-methods.ts'
import type { PaymentCard } from '../settle.ts'
import type { StripeClient } from './client.ts'
import { stripeName } from './events.ts'

/** Stripe's id of a customer, who is created there with the first payment of a subscription. */
export async function stripeCustomerOf(stripe: StripeClient, db: Db, customerId: string): Promise<string> {
  const key = { customer_id: customerId, gateway: stripeName }
  const stored = await sql.findGatewayCustomer(db, key)
  if (stored !== undefined) return stored.reference
  const { id } = await stripe.request((api) =>
    api.customers.create(
      { metadata: { customer_id: customerId } },
      { idempotencyKey: `customer:${customerId}` },
    ),
  )
  await sql.insertGatewayCustomer(db, { ...key, reference: id })
  return (await sql.findGatewayCustomer(db, key))!.reference
}

const brands: Record<string, string> = {
  amex: 'American Express',
  diners: 'Diners Club',
  discover: 'Discover',
  jcb: 'JCB',
  mastercard: 'Mastercard',
  unionpay: 'UnionPay',
  visa: 'Visa',
}

/** What is shown of a card. */
export function toPaymentCard({ brand, last4 }: { brand: string | null; last4: string | null }): PaymentCard {
  return { brand: brands[brand ?? ''] ?? brand ?? 'Card', last4: last4 ?? '' }
}

type PaymentMethod = Stripe.PaymentIntent['payment_method']

/** The card of an expanded payment method; null for other methods. */
export function cardOf(method: PaymentMethod): PaymentCard | null {
  return method === null || typeof method === 'string' || method.card === undefined
    ? null
    : toPaymentCard(method.card)
}

/** The card to store, if Stripe has attached it to a customer. */
export function newCardOf(method: PaymentMethod): NewCard | null {
  if (method === null || typeof method === 'string' || method.card === undefined || method.customer === null)
    return null
  const { id, card } = method
  return {
    gateway: stripeName,
    reference: id,
    fingerprint: card.fingerprint ?? id,
    ...toPaymentCard(card),
    renews: true,
    expMonth: card.exp_month,
    expYear: card.exp_year,
  }
}

/** The failure code of a declined payment: the reason of the bank, if it gives one. */
export function failureCodeOf(code: string | null, declineCode: string | null): string {
  if (declineCode !== null && declineCode !== 'generic_decline') return declineCode
  return code ?? 'payment_failed'
}
