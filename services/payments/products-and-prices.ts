// Products and prices: inserting, reading and listing them. A price is immutable except for `active` and
// `metadata`.
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import { invalidField, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { containsPattern, type Page } from '../../infra/database/pagination.ts'
import { paymentsNow } from './clock.ts'

export type Product = components['schemas']['Product']
export type Price = components['schemas']['Price']
type Schemas = components['schemas']

/** Throws 404 for an unknown product. `lock` locks the row against other writers. */
export async function findProduct(db: Db, id: string, { lock = false } = {}): Promise<Product> {
  const product = await (lock ? sql.lockProduct : sql.findProduct)(db, { id })
  if (product === undefined) throw notFound('product', id)
  return product
}

export async function insertProduct(
  tx: Db,
  { name, description, metadata = {} }: Schemas['ProductCreate'],
): Promise<Product> {
  const id = newIdAt('prod', await paymentsNow(tx))
  return await sql.insertProduct(tx, {
    id,
    name,
    description: description ?? null,
    metadata,
    created_at: timeOf(id),
  })
}

/** A page of products. One statement, including the total. */
export async function listProducts(db: Db, query: ListQuery<'listProducts'>): Promise<Page<Product>> {
  const q = query.q === undefined ? undefined : containsPattern(query.q)
  return await sql.listProducts(db, { ...query, q })
}

/** Throws 404 for an unknown price. `lock` locks the row against other writers. */
export async function findPrice(db: Db, id: string, { lock = false } = {}): Promise<Price> {
  const price = await (lock ? sql.lockPrice : sql.findPrice)(db, { id })
  if (price === undefined) throw notFound('price', id)
  return price
}

/** The maximum `interval_count` of each interval: a period lasts at most three years. */
const maxIntervalCount = { day: 1095, week: 156, month: 36, year: 3 }

export async function insertPrice(
  tx: Db,
  { product_id: productId, unit_amount: amount, currency, recurring, metadata = {} }: Schemas['PriceCreate'],
): Promise<Price> {
  if (recurring !== undefined && recurring.interval_count > maxIntervalCount[recurring.interval]) {
    throw invalidField(
      'recurring.interval_count',
      'maximum',
      `The maximum for the interval ${recurring.interval} is ${maxIntervalCount[recurring.interval]}.`,
    )
  }
  await findProduct(tx, productId)
  const id = newIdAt('prc', await paymentsNow(tx))
  return await sql.insertPrice(tx, {
    id,
    product_id: productId,
    unit_amount: amount,
    currency,
    interval: recurring?.interval ?? null,
    interval_count: recurring?.interval_count ?? null,
    metadata,
    created_at: timeOf(id),
  })
}

/**
 * A page of prices. One statement, including the total; one more checks the product if the query names one.
 */
export async function listPrices(db: Db, query: ListQuery<'listPrices'>): Promise<Page<Price>> {
  if (query.product_id !== undefined) await findProduct(db, query.product_id)
  return await sql.listPrices(db, query)
}
