// Converts amounts between this platform and Stripe. Both use minor units, but Stripe differs from ISO 4217
// for some currencies. Source: https://docs.stripe.com/currencies (zero-decimal and three-decimal currencies,
// special cases, minimum and maximum charge amounts).
import { invalidField } from '../../../infra/errors.ts'
import { exponentOf } from '../currency.ts'

const zeroDecimal = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '))
/** Stripe requires the last digit of these to be 0. */
const threeDecimal = new Set('bhd jod kwd omr tnd'.split(' '))
// All others have two digits at Stripe, including ISK and UGX: ISO 4217 gives these none, and Stripe expects
// 00.

/** Maximum digits of an amount that all payment methods support; cards alone support more. */
const maxDigits: Record<string, number> = { idr: 12, cop: 10, inr: 9 }
const defaultMaxDigits = 8

/** Minimum charges in Stripe's minor units. Those of other currencies depend on the account. */
const minimums: Record<string, number> = {
  aed: 200,
  bgn: 100,
  czk: 1_500,
  dkk: 250,
  gbp: 30,
  hkd: 400,
  huf: 17_500,
  mxn: 1_000,
  myr: 200,
  nok: 300,
  pln: 200,
  ron: 200,
  sek: 300,
  thb: 1_000,
}
const defaultMinimum = 50

/** The smallest amount that Stripe charges, in minor units of this platform. */
export function minimumOf(currency: string): number {
  return Math.ceil(fromStripeAmount(minimums[currency] ?? defaultMinimum, currency))
}

function stripeExponentOf(currency: string): number {
  return zeroDecimal.has(currency) ? 0 : threeDecimal.has(currency) ? 3 : 2
}

/** Converts an amount of this platform to Stripe's. A whole number if `requireAmount` accepted it. */
export function toStripeAmount(amount: number, currency: string): number {
  const shift = stripeExponentOf(currency) - exponentOf(currency)
  return shift < 0 ? amount / 10 ** -shift : amount * 10 ** shift
}

/** Converts an amount of Stripe's to this platform's. */
export function fromStripeAmount(amount: number, currency: string): number {
  const shift = exponentOf(currency) - stripeExponentOf(currency)
  return shift < 0 ? amount / 10 ** -shift : amount * 10 ** shift
}

/**
 * Throws 400 for an amount that Stripe does not support. `field` is the request field to name in the error.
 */
export function requireAmount(amount: number, currency: string, field: string): void {
  const code = currency.toUpperCase()
  if (exponentOf(currency) === 3 && !threeDecimal.has(currency))
    throw invalidField(field, 'currency', `Stripe does not support the currency ${code}.`)
  const step = threeDecimal.has(currency)
    ? 10
    : Math.max(1, 10 ** (exponentOf(currency) - stripeExponentOf(currency)))
  if (amount % step !== 0)
    throw invalidField(field, 'multiple_of', `Amounts in ${code} must be a multiple of ${step} for Stripe.`)
  const max = 10 ** (maxDigits[currency] ?? defaultMaxDigits) - 1
  if (toStripeAmount(amount, currency) > max)
    throw invalidField(
      field,
      'maximum',
      `The maximum amount in ${code} for Stripe is ${Math.floor(fromStripeAmount(max, currency))}.`,
    )
}
