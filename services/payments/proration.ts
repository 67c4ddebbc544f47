// Proration: what a change of a subscription within its period charges and gives back. The rest of an amount
// is its part for the time that is left, rounded half up. A credit for unused time and the charge for the
// same time at the same price are therefore equal, and the parts of a period add up to the whole. Rules:
// https://docs.stripe.com/billing/subscriptions/prorations
import { chargeStep } from './currency.ts'
import { totalOf, type OrderLine, type PricedItems } from './orders.ts'
import type { Period } from './subscriptions.ts'
import type { components } from '../../generated/types.ts'

export type Proration = components['schemas']['Proration']

/** The items of a subscription with their prices for one billing period. */
export type Plan = Pick<PricedItems, 'lines' | 'currency' | 'total' | 'interval'>

export interface Quote {
  /** What is charged now. */
  lines: OrderLine[]
  /** The credit for the unused time of what the change replaces. */
  unused: number
  /** What of `returned` reduces no further credit. */
  uncredited: number
  /** What is added to the next order. */
  owed: number
  /** Whether a new period starts now. */
  restarts: boolean
}

export interface ChangeTerms {
  period: Period
  at: Date
  proration: Proration
  /** A trial costs nothing, and neither does its change. */
  trialing: boolean
  /** What of the payments for the period the customer got back, which is not credited again. Default: 0. */
  returned?: number
}

/** The amounts of a change that neither charges nor gives back anything. */
export const nothing: Quote = { lines: [], unused: 0, uncredited: 0, owed: 0, restarts: false }

/** The amounts of a change from one plan to another within a period. */
export function quoteChange(
  from: Plan,
  to: Plan,
  { period, at, proration, trialing, returned = 0 }: ChangeTerms,
): Quote {
  if (trialing) return nothing
  const restarts = from.interval !== to.interval || (from.total === 0 && to.total > 0)
  if (!restarts && proration === 'none') return nothing
  const rest = ({ amount }: OrderLine): number => restOf(amount, to.currency, period, at)
  const removed = linesWithout(from.lines, restarts ? [] : to.lines)
  const restOfAll = (lines: OrderLine[]): number => lines.reduce((sum, line) => sum + rest(line), 0)
  const removedRest = restOfAll(removed)
  const unused = proration === 'none' ? 0 : Math.max(0, removedRest - returned)
  // What is left concerns what stays. The rest of it was returned for the time before the change.
  const left = Math.min(returned - (removedRest - unused), restOfAll(from.lines) - removedRest)
  const uncredited = proration === 'none' ? 0 : returned - left
  if (restarts) return { lines: to.lines, unused, uncredited, owed: 0, restarts }
  const lines = linesWithout(to.lines, from.lines).map((line) => restLine(line, rest(line), period, at))
  if (proration === 'now') return { lines, unused, uncredited, owed: 0, restarts }
  const net = totalOf(lines) - unused
  return { ...nothing, unused: Math.max(0, -net), uncredited, owed: Math.max(0, net) }
}

/**
 * The part of the amount of a period for the time from `at` to its end, in minor units, rounded to what card
 * networks charge. The whole period is not rounded.
 */
export function restOf(amount: number, currency: string, { start, end }: Period, at: Date): number {
  const step = BigInt(chargeStep(currency))
  const whole = BigInt(end.getTime() - start.getTime())
  const left = BigInt(Math.min(Math.max(end.getTime() - at.getTime(), 0), Number(whole)))
  if (left === whole) return amount
  const divisor = whole * step
  return Number(((2n * BigInt(amount) * left + divisor) / (2n * divisor)) * step)
}

/** The lines that `others` does not have with the same price and quantity. */
function linesWithout(lines: OrderLine[], others: OrderLine[]): OrderLine[] {
  return lines.filter(
    ({ priceId, quantity }) =>
      !others.some((other) => other.priceId === priceId && other.quantity === quantity),
  )
}

function restLine({ priceId, productName, quantity }: OrderLine, amount: number, { end }: Period, at: Date) {
  const day = (date: Date): string => date.toISOString().slice(0, 10)
  const units = quantity === 1 ? '' : ` (${quantity})`
  const description = `${productName}${units}, ${day(at)} to ${day(end)}`
  return { priceId, productName: description, quantity: 1, unitAmount: amount, amount }
}
