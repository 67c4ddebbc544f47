// Usage prices: what a quantity of usage costs. Decimals are strings, and the arithmetic is exact: a line is
// rounded once, half up.
import type { components } from '../../generated/types.ts'
import { invalidField } from '../../infra/errors.ts'
import { maxOrderAmount } from './currency.ts'

export type UsageTerms = components['schemas']['PriceUsage']

/** The fields of the terms that decide the amount. */
export type Tariff = Pick<UsageTerms, 'model' | 'unit_amount' | 'package_size' | 'tiers'>

/** A part of a quantity that has one price. The amounts are decimals of the minor unit. */
export interface UsagePart {
  quantity: string
  unit_amount: string
  flat_amount: number
  amount: string
}

export interface UsageAmount {
  /** In the minor unit of the currency. */
  amount: number
  /** Their quantities add up to the quantity, and their amounts to the amount before it is rounded. */
  parts: UsagePart[]
}

/** The digits after the point of a decimal of the API. */
const digits = 12
const one = 10n ** BigInt(digits)

interface ExactPart {
  quantity: bigint
  unitAmount: bigint
  flatAmount: number
  /** In units of 10^-24, as the product of two decimals. */
  amount: bigint
}

/**
 * The amount of a quantity, in the minor unit of the currency. A quantity of 0 or less costs nothing. An
 * amount is at most the maximum total of an order.
 * @param step the smallest amount that is charged, in minor units.
 */
export function usageAmount(tariff: Tariff, quantity: string, step = 1): UsageAmount {
  const units = toUnits(quantity)
  const parts = units > 0n ? partsOf(tariff, units) : []
  const exact = parts.reduce((sum, { amount }) => sum + amount, 0n)
  return {
    amount: roundAmount(exact, BigInt(step)),
    parts: parts.map((part) => ({
      quantity: toDecimal(part.quantity),
      unit_amount: toDecimal(part.unitAmount),
      flat_amount: part.flatAmount,
      amount: toDecimal(part.amount, 2 * digits),
    })),
  }
}

function partsOf({ model, unit_amount: unitAmount, package_size: size, tiers }: Tariff, units: bigint) {
  if (model === 'graduated') return graduatedParts(tiers!, units)
  if (model === 'volume') {
    const tier = tiers!.find(({ up_to: upTo }) => upTo === null || units <= toUnits(upTo))!
    return [tierPart(tier, units)]
  }
  const price = toUnits(unitAmount!)
  if (model === 'per_unit')
    return [{ quantity: units, unitAmount: price, flatAmount: 0, amount: units * price }]
  const packages = ceilDivide(units, toUnits(size!))
  return [{ quantity: units, unitAmount: price, flatAmount: 0, amount: packages * price * one }]
}

/** Each tier prices the units above the bound of the tier before it. */
function graduatedParts(tiers: NonNullable<UsageTerms['tiers']>, units: bigint): ExactPart[] {
  const parts: ExactPart[] = []
  let bound = 0n
  for (const tier of tiers) {
    const end = tier.up_to === null ? units : toUnits(tier.up_to)
    parts.push(tierPart(tier, (end < units ? end : units) - bound))
    if (end >= units) break
    bound = end
  }
  return parts
}

type Tier = NonNullable<UsageTerms['tiers']>[number]

function tierPart({ unit_amount: unitAmount, flat_amount: flatAmount }: Tier, units: bigint): ExactPart {
  const price = toUnits(unitAmount)
  return {
    quantity: units,
    unitAmount: price,
    flatAmount,
    amount: units * price + BigInt(flatAmount) * one * one,
  }
}

/** Rounds an amount half up to a multiple of `step`. */
function roundAmount(exact: bigint, step: bigint): number {
  const divisor = step * one * one
  const rounded = ((2n * exact + divisor) / (2n * divisor)) * step
  const maximum = (BigInt(maxOrderAmount) / step) * step
  return Number(rounded < maximum ? rounded : maximum)
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor
}

/** A decimal such as `-1.5` in units of 10^-12. */
function toUnits(decimal: string): bigint {
  const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,12}))?$/.exec(decimal)!
  const units = BigInt(whole + fraction.padEnd(digits, '0'))
  return sign === '-' ? -units : units
}

/** The decimal of an integer in units of 10^-`scale`, without zeros at its end. */
function toDecimal(units: bigint, scale = digits): string {
  if (units < 0n) return `-${toDecimal(-units, scale)}`
  const padded = units.toString().padStart(scale + 1, '0')
  return `${padded.slice(0, -scale)}.${padded.slice(-scale)}`.replace(/\.?0+$/, '')
}

/** The exact sum of decimals. */
export function addDecimals(decimals: string[]): string {
  return toDecimal(decimals.reduce((sum, decimal) => sum + toUnits(decimal), 0n))
}

/** The longest period of a price with usage: late usage is accepted for 35 days. */
const maxUsagePeriod = { day: 31, week: 4, month: 1, year: 0 }

function requireShortPeriod(recurring: components['schemas']['RecurringCreate'] | undefined): void {
  if (recurring === undefined) throw invalidField('recurring', 'required', 'A price with usage is recurring.')
  const maximum = maxUsagePeriod[recurring.interval]
  if (maximum === 0)
    throw invalidField('recurring.interval', 'enum', 'The period of a price with usage is at most a month.')
  if (recurring.interval_count > maximum)
    throw invalidField(
      'recurring.interval_count',
      'maximum',
      `The maximum for the interval ${recurring.interval} and a price with usage is ${maximum}.`,
    )
}

/** The fields that the terms of each model have, besides the meter. */
const fieldsOf = {
  per_unit: ['unit_amount'],
  package: ['unit_amount', 'package_size'],
  graduated: ['tiers'],
  volume: ['tiers'],
} as const

/**
 * Throws 400 for terms that lack a field of their model or have another, or whose tiers do not ascend, and
 * for a price without a period or with one that is longer than a month.
 */
export function requireValidUsage(
  usage: components['schemas']['PriceUsageCreate'],
  recurring?: components['schemas']['RecurringCreate'],
): void {
  requireShortPeriod(recurring)
  const allowed: readonly string[] = fieldsOf[usage.model]
  for (const field of ['unit_amount', 'package_size', 'tiers'] as const) {
    const name = `usage.${field}`
    if (usage[field] === undefined && allowed.includes(field))
      throw invalidField(name, 'required', `The model ${usage.model} requires ${field}.`)
    if (usage[field] !== undefined && !allowed.includes(field))
      throw invalidField(name, 'exclusive', `The model ${usage.model} has no ${field}.`)
  }
  if (usage.package_size !== undefined && toUnits(usage.package_size) === 0n)
    throw invalidField('usage.package_size', 'exclusiveMinimum', 'A package has more than 0 units.')
  let bound = 0n
  usage.tiers?.forEach(({ up_to: upTo = null }, i) => {
    const name = `usage.tiers[${i}].up_to`
    const isLast = i === usage.tiers!.length - 1
    if ((upTo === null) !== isLast)
      throw invalidField(name, 'last', 'Only the last tier, and always that, has no bound.')
    if (upTo === null) return
    if (toUnits(upTo) <= bound)
      throw invalidField(name, 'ascending', 'Each bound is above 0 and the bound of the tier before it.')
    bound = toUnits(upTo)
  })
}
