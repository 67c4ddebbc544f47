// Currencies: the number of digits of the minor unit; amounts and billing periods formatted for people.
import type { components } from '../../generated/types.ts'

export type Currency = components['schemas']['Currency']
type Recurring = components['schemas']['Recurring']

/** The maximum total of an order, in minor units. */
export const maxOrderAmount = 999_999_999_999

// ISO 4217 as of 2024; all others have two digits.
const zeroDecimal = new Set('bif clp djf gnf isk jpy kmf krw pyg rwf ugx vnd vuv xaf xof xpf'.split(' '))
const threeDecimal = new Set('bhd iqd jod kwd lyd omr tnd'.split(' '))

/** The digits after the decimal point: 1999 minor units are 19.99 EUR, 1999 JPY and 1.999 KWD. */
export function exponentOf(currency: string): 0 | 2 | 3 {
  return zeroDecimal.has(currency) ? 0 : threeDecimal.has(currency) ? 3 : 2
}

/**
 * The smallest amount, in minor units, that card networks charge: the last of three digits is 0, and so are
 * both digits of the ariary, whose minor unit is a fifth.
 */
export function chargeStep(currency: string): 1 | 10 | 100 {
  return currency === 'mga' ? 100 : exponentOf(currency) === 3 ? 10 : 1
}

/**
 * Formats an amount in minor units, e.g. `€19.99`. Exact: never converts the amount to a floating-point
 * number.
 */
export function formatAmount(amount: number, currency: string, locale = 'en'): string {
  const digits = exponentOf(currency)
  const padded = String(amount).padStart(digits + 1, '0')
  const decimal = digits === 0 ? padded : `${padded.slice(0, -digits)}.${padded.slice(-digits)}`
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: currency.toUpperCase(),
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(decimal as `${number}`)
}

/** The price of a period for people, e.g. `€5.00 every month plus usage`. */
export function formatPlan({
  amount,
  currency,
  has_usage: hasUsage,
  ...recurring
}: { amount: number; currency: string; has_usage: boolean } & Interval): string {
  if (amount === 0) return hasUsage ? `Usage, charged ${formatInterval(recurring)}` : 'Free'
  const base = `${formatAmount(amount, currency)} ${formatInterval(recurring)}`
  return hasUsage ? `${base} plus usage` : base
}

type Interval = Pick<Recurring, 'interval' | 'interval_count'>

/** A billing period for people, e.g. `every 3 months`. */
export function formatInterval({ interval, interval_count: count }: Interval): string {
  return count === 1 ? `every ${interval}` : `every ${count} ${interval}s`
}
