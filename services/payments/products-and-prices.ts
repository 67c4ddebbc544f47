// Products and prices: what their default handlers do not check. A price is immutable except for `active` and
// `metadata`. Everyone reads the catalog of the operator; that of an organization is its admins' alone.
import * as prices from '../../generated/sql/prices.ts'
import * as products from '../../generated/sql/products.ts'
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { invalidField, notFound } from '../../infra/errors.ts'
import { requireSeller, type SellerRequest } from './sellers.ts'
import { findMeterOfSeller } from './usage/meters.ts'

export type Price = components['schemas']['Price']
type Product = components['schemas']['Product']

/** Authorizes an operation on a product or a price of a seller. Throws 403, or `missing`. */
export async function authorizeCatalog(
  db: Db,
  request: SellerRequest,
  { organization_id: seller = null }: { organization_id?: string | null },
  missing: () => Error,
): Promise<void> {
  if (seller !== null || request.operation.method !== 'GET') await requireSeller(db, request, seller, missing)
}

/** The product, if the caller may read it. Throws 404. */
export async function openProduct(db: Db, request: SellerRequest, id: string): Promise<Product> {
  const product = await products.find(db, { id })
  const missing = (): Error => notFound('product', id)
  if (product === undefined) throw missing()
  const { organization_id: seller = null } = product
  if (seller !== null) await requireSeller(db, request, seller, missing)
  return product
}

/** Throws 404 for an unknown price. */
export async function findPrice(db: Db, id: string): Promise<Price> {
  const price = await prices.find(db, { id })
  if (price === undefined) throw notFound('price', id)
  return price
}

/** Throws 404 for a meter that the seller does not have, and 400 for one that is archived. */
export async function requireMeter(
  db: Db,
  { meter_id: id }: components['schemas']['PriceUsageCreate'],
  seller: string | null = null,
): Promise<void> {
  const meter = await findMeterOfSeller(db, id, seller)
  if (!meter.active) throw invalidField('usage.meter_id', 'active', `The meter ${id} is archived.`)
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
