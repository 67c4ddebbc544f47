// Amounts as Stripe wants them: in minor units, too, but for some currencies others than those of ISO 4217.
// Source: https://docs.stripe.com/currencies (zero-decimal and three-decimal currencies, special cases, maximum charge amounts).
import { invalidField } from '../../../infra/errors.ts'
import { exponentOf } from '../currency.ts'

const withoutDigits = new Set('bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '))
/** Their last digit has to be 0. */
const withThreeDigits = new Set('bhd jod kwd omr tnd'.split(' '))
// All others have two: also ISK and UGX, which have none in truth and are still told with 00 at the end.

/** The most digits that every way to pay takes; cards alone take more. */
const mostDigits: Record<string, number> = { idr: 12, cop: 10, inr: 9 }
const usualDigits = 8

function digitsAtStripe(currency: string): number {
  return withoutDigits.has(currency) ? 0 : withThreeDigits.has(currency) ? 3 : 2
}

/** An amount of this platform as Stripe says it. A whole number where `requireAmount` let it pass. */
export function toStripe(amount: number, currency: string): number {
  const shift = digitsAtStripe(currency) - exponentOf(currency)
  return shift < 0 ? amount / 10 ** -shift : amount * 10 ** shift
}

/** An amount of Stripe's as this platform says it. */
export function fromStripe(amount: number, currency: string): number {
  const shift = exponentOf(currency) - digitsAtStripe(currency)
  return shift < 0 ? amount / 10 ** -shift : amount * 10 ** shift
}

/** Throws 400 for an amount that Stripe does not take. `field` is what the request calls it. */
export function requireAmount(amount: number, currency: string, field: string): void {
  const code = currency.toUpperCase()
  if (exponentOf(currency) === 3 && !withThreeDigits.has(currency))
    throw invalidField(field, 'currency', `Stripe takes no ${code}.`)
  const step = withThreeDigits.has(currency)
    ? 10
    : Math.max(1, 10 ** (exponentOf(currency) - digitsAtStripe(currency)))
  if (amount % step !== 0)
    throw invalidField(field, 'multiple_of', `Stripe takes amounts of ${code} in steps of ${step}.`)
  const most = 10 ** (mostDigits[currency] ?? usualDigits) - 1
  if (toStripe(amount, currency) > most)
    throw invalidField(
      field,
      'maximum',
      `Stripe takes at most ${Math.floor(fromStripe(most, currency))} of ${code} at once.`,
    )
}
