// Products and prices: inserting, reading and listing them. A price is immutable except for `active`.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { invalidField, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { containsPattern, listPage, type Page, type PageQuery } from '../../infra/database/pagination.ts'
import { paymentsNow } from './clock.ts'

export type Product = components['schemas']['Product']
export type Price = components['schemas']['Price']
type Schemas = components['schemas']

const productColumns = 'p.id, p.name, p.description, p.active, p.metadata, p.created_at, p.updated_at'
const readProduct = statement<Product>(`SELECT ${productColumns} FROM products p WHERE p.id = $1`)
const lockProduct = statement<Product>(
  `SELECT ${productColumns} FROM products p WHERE p.id = $1 FOR NO KEY UPDATE`,
)

/** Throws 404 for an unknown product. `lock` locks the row against other writers. */
export async function findProduct(db: Db, id: string, { lock = false } = {}): Promise<Product> {
  const [product] = await db.sql(lock ? lockProduct : readProduct, [id])
  if (product === undefined) throw notFound('product', id)
  return product
}

const insertProductRow = statement<Product>(`
  WITH p AS (
    INSERT INTO products (id, name, description, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $5) RETURNING *
  )
  SELECT ${productColumns} FROM p`)

export async function insertProduct(
  tx: Db,
  { name, description, metadata = {} }: Schemas['ProductCreate'],
): Promise<Product> {
  const id = newIdAt('prod', await paymentsNow(tx))
  const [product] = await tx.sql(insertProductRow, [id, name, description ?? null, metadata, timeOf(id)])
  return product
}

export interface ProductListQuery extends PageQuery {
  sort: 'created_at' | 'name'
  order: 'asc' | 'desc'
  active?: boolean
  q?: string
}

/** A page of products. One statement, including the total. */
export async function listProducts(db: Db, query: ProductListQuery): Promise<Page<Product>> {
  const values: unknown[] = []
  const filters: string[] = []
  if (query.active !== undefined) filters.push(`p.active = $${values.push(query.active)}`)
  if (query.q !== undefined)
    filters.push(`lower(p.name) LIKE lower($${values.push(containsPattern(query.q))})`)
  return await listPage<Product>(
    db,
    {
      from: 'products p',
      columns: productColumns,
      filters,
      values,
      key: query.sort === 'name' ? 'lower(p.name)' : 'p.id',
      id: 'p.id',
      searches: query.q !== undefined,
    },
    query,
  )
}

const recurring = `CASE WHEN p.interval IS NOT NULL
  THEN jsonb_build_object('interval', p.interval, 'interval_count', p.interval_count) END AS recurring`
const priceColumns = `p.id, p.product_id, p.unit_amount, p.currency, ${recurring}, p.active, p.created_at`
const readPrice = statement<Price>(`SELECT ${priceColumns} FROM prices p WHERE p.id = $1`)
const lockPrice = statement<Price>(`SELECT ${priceColumns} FROM prices p WHERE p.id = $1 FOR NO KEY UPDATE`)

/** Throws 404 for an unknown price. `lock` locks the row against other writers. */
export async function findPrice(db: Db, id: string, { lock = false } = {}): Promise<Price> {
  const [price] = await db.sql(lock ? lockPrice : readPrice, [id])
  if (price === undefined) throw notFound('price', id)
  return price
}

const insertPriceRow = statement<Price>(`
  WITH p AS (
    INSERT INTO prices (id, product_id, unit_amount, currency, interval, interval_count, created_at)
    VALUES ($1, $2, $3, $4, $5::"PriceInterval", $6, $7) RETURNING *
  ) SELECT ${priceColumns} FROM p`)

/** The maximum `interval_count` of each interval: a period lasts at most three years. */
const maxIntervalCount = { day: 1095, week: 156, month: 36, year: 3 }

export async function insertPrice(
  tx: Db,
  { product_id: productId, unit_amount: amount, currency, recurring }: Schemas['PriceCreate'],
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
  const [price] = await tx.sql(insertPriceRow, [
    id,
    productId,
    amount,
    currency,
    recurring?.interval ?? null,
    recurring?.interval_count ?? null,
    timeOf(id),
  ])
  return price
}

export interface PriceListQuery extends PageQuery {
  sort: 'created_at' | 'unit_amount'
  order: 'asc' | 'desc'
  product_id?: string
  currency?: string
  active?: boolean
}

/**
 * A page of prices. One statement, including the total; one more checks the product if the query names one.
 */
export async function listPrices(db: Db, query: PriceListQuery): Promise<Page<Price>> {
  if (query.product_id !== undefined) await findProduct(db, query.product_id)
  const values: unknown[] = []
  const filters: string[] = []
  if (query.product_id !== undefined) filters.push(`p.product_id = $${values.push(query.product_id)}`)
  if (query.currency !== undefined) filters.push(`p.currency = $${values.push(query.currency)}`)
  if (query.active !== undefined) filters.push(`p.active = $${values.push(query.active)}`)
  return await listPage<Price>(
    db,
    {
      from: 'prices p',
      columns: priceColumns,
      filters,
      values,
      key: query.sort === 'unit_amount' ? 'p.unit_amount' : 'p.id',
      id: 'p.id',
    },
    query,
  )
}
