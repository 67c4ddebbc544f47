// Products and prices: what their default handlers do not check. A price is immutable except for `active` and
// `metadata`.
import * as prices from '../../generated/sql/prices.ts'
import * as products from '../../generated/sql/products.ts'
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { invalidField, notFound } from '../../infra/errors.ts'

export type Price = components['schemas']['Price']

/** Throws 404 for an unknown product. */
export async function requireProduct(db: Db, id: string): Promise<void> {
  if ((await products.find(db, { id })) === undefined) throw notFound('product', id)
}

/** Throws 404 for an unknown price. */
export async function findPrice(db: Db, id: string): Promise<Price> {
  const price = await prices.find(db, { id })
  if (price === undefined) throw notFound('price', id)
  return price
}

/** The maximum `interval_count` of each interval: a period lasts at most three years. */
const maxIntervalCount = { day: 1095, week: 156, month: 36, year: 3 }

/** Throws 400 for a billing period of more than three years. */
export function requireValidPeriod({
  interval,
  interval_count: count,
}: components['schemas']['RecurringCreate']): void {
  const maximum = maxIntervalCount[interval]
  if (count > maximum)
    throw invalidField(
      'recurring.interval_count',
      'maximum',
      `The maximum for the interval ${interval} is ${maximum}.`,
    )
}
