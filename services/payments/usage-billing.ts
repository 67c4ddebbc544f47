// Usage on orders. The usage of a price counts from the moment when the subscription has the price, and the
// order of the next period charges it: each period of use once, and later what changed in it since, by late
// usage and voids. The caller has locked the subscription.
import * as sql from '../../generated/sql/payments.ts'
import type { Db, Transaction } from '../../infra/database/database.ts'
import { chargeStep } from './currency.ts'
import type { PaymentServices } from './gateway.ts'
import type { OrderLine } from './orders.ts'
import type { ChargedUsage, OwnedSubscription } from './subscriptions.ts'
import { addDecimals, usageAmount } from './usage-prices.ts'

/** The usage that the next order charges. */
export interface DueUsage {
  lines: OrderLine[]
  /** Whether a part of it is of a trial, and free. */
  hasFree: boolean
  charged: ChargedUsage[]
}

export const noUsage: DueUsage = { lines: [], hasFree: false, charged: [] }

/**
 * The usage of a subscription until `at` that no order charged, as the lines of an order.
 * @param room what its other lines leave of the maximum total of an order.
 */
export async function readDueUsage(
  db: Db,
  { usageDays }: PaymentServices,
  { id, customer_id: customerId, has_usage: hasUsage }: OwnedSubscription,
  { at, room }: { at: Date; room: number },
): Promise<DueUsage> {
  if (!hasUsage) return noUsage
  const rows = await sql.readUsage(db, {
    subscription_id: id,
    customer_id: customerId,
    at,
    kept_days: usageDays.kept,
  })
  const ofPrices = new Map<string, sql.ReadUsageRow[]>()
  for (const row of rows) ofPrices.set(row.price_id, [...(ofPrices.get(row.price_id) ?? []), row])
  const due: DueUsage = { lines: [], hasFree: rows.some(({ free }) => free), charged: [] }
  let left = Math.max(0, room)
  for (const periods of ofPrices.values()) {
    const { line, charged } = chargePrice(periods, left)
    left -= line?.amount ?? 0
    if (line !== null) due.lines.push(line)
    due.charged.push(...charged)
  }
  return due
}

/**
 * What is due of the periods of one price, in their order. What corrections take away reduces the quantity to
 * 0 at most; the rest is carried to the next order.
 */
function chargePrice(
  periods: sql.ReadUsageRow[],
  room: number,
): { line: OrderLine | null; charged: ChargedUsage[] } {
  const last = periods.at(-1)!
  const changes = periods.flatMap(({ free, counted, charged, carried }) =>
    free ? [] : [counted, minus(charged), carried],
  )
  const total = addDecimals(changes)
  const isCredit = total.startsWith('-')
  const charged = periods.map(({ id, end_at, counted: quantity }) => ({
    id,
    end_at,
    quantity,
    carried: id === last.id && isCredit ? total : '0',
  }))
  const quantity = last.free ? last.counted : isCredit ? '0' : total
  if (quantity === '0' || (last.free && !last.is_open)) return { line: null, charged }
  return { line: lineOf(last, quantity, room), charged }
}

function minus(decimal: string): string {
  return decimal.startsWith('-') ? decimal.slice(1) : `-${decimal}`
}

function lineOf(
  { price_id: priceId, name, unit, terms, currency, start_at, end_at, free }: sql.ReadUsageRow,
  quantity: string,
  room: number,
): OrderLine {
  const { amount: full } = usageAmount(terms, quantity, chargeStep(currency))
  const amount = free ? 0 : Math.min(full, room)
  const units = unit === null ? quantity : `${quantity} ${unit}`
  const day = (time: string): string => time.slice(0, 10)
  return {
    priceId,
    productName: `${name} (${units}), ${day(start_at)} to ${day(end_at)}${free ? ', free' : ''}`,
    quantity: 1,
    unitAmount: amount,
    amount,
    usage: { meter_id: terms.meter_id, quantity, period_start: start_at, period_end: end_at },
  }
}

/**
 * What is left out of an order whose total is below the smallest amount that its gateway charges: the usage
 * goes on to the next order. The periods of a trial end nevertheless.
 */
export function deferSmall(due: DueUsage, total: number, minimum: number): DueUsage {
  const isSmall = total > 0 && total < minimum && !due.hasFree
  return isSmall ? noUsage : due
}

/** Records that an order charges usage. It ends the periods that are open. */
export async function chargeUsage(
  tx: Transaction,
  { usageDays }: PaymentServices,
  charged: ChargedUsage[],
  at: Date,
): Promise<void> {
  if (charged.length === 0) return
  await sql.chargeUsage(tx, {
    ids: charged.map(({ id }) => id),
    end_ats: charged.map(({ end_at }) => new Date(end_at)),
    quantities: charged.map(({ quantity }) => quantity),
    carrieds: charged.map(({ carried }) => carried),
    window_days: usageDays.accepted,
    at,
  })
}

/** Counts the usage of the prices of a subscription from `at`, and no more that of prices that it had. */
export async function countUsage(
  tx: Transaction,
  { id, status, items, has_usage: hasUsage }: OwnedSubscription,
  at: Date,
): Promise<void> {
  if (!hasUsage) return
  await sql.openUsage(tx, {
    subscription_id: id,
    price_ids: items.map(({ price_id: priceId }) => priceId),
    free: status === 'trialing',
    at,
  })
}
