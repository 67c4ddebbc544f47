// Orders as the API shows them. What they cost is computed here, from prices, when they are made, and never again.
import { randomInt } from 'node:crypto'
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { conflict, invalidField, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../projects/resource-access.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { listPage, type Page, type PageQuery } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'

export type Order = components['schemas']['Order']
type OrderItems = components['schemas']['OrderItems']

/** An order with whose it is. */
export type OwnedOrder = Order & { owner_id: string }

/** The most that an order may come to. */
const mostAmount = 999_999_999_999

const columns = (items = 'order_items'): string => `o.id, o.number, o.status::text,
  (SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description, 'quantity', i.quantity, 'unit_amount', i.unit_amount,
    'amount', i.amount) ORDER BY i.position) FROM ${items} i WHERE i.order_id = o.id) AS items,
  o.total_amount AS subtotal_amount, o.total_amount, o.refunded_amount, o.currency, o.checkout_id, o.subscription_id, o.metadata, o.paid_at,
  o.created_at, o.updated_at`
/** Of a row of orders whose alias is o, and of its items, whose table may be another. */
export const orderColumns = (items?: string): string => `${columns(items)}, o.project_id, o.owner_id`

const read = (holdProject: boolean) =>
  statement<Order & WorkspaceResource>(
    `SELECT ${columns()}, ${accessColumns('o', '$2', { lock: holdProject })} FROM orders o WHERE o.id = $1`,
  )
const readOrder = read(false)
const readInHeldProject = read(true)

export interface OrderRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/**
 * The order of the request, when the caller may do with it what the operation does. One statement; `holdProject` holds its project, and nothing
 * else: `lockDeal` holds the order, after its subscription.
 */
export async function openOrder(
  db: Db,
  request: OrderRequest,
  { holdProject = false } = {},
): Promise<OwnedOrder> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(holdProject ? readInHeldProject : readOrder, [id, principal.userId])
  requireAccess(row, request, { name: 'order', id })
  const { your_role: _role, project_status: _project, ...order } = row
  return order
}

const byId = statement<OwnedOrder>(`SELECT ${orderColumns()} FROM orders o WHERE o.id = $1`)
const held = statement<OwnedOrder>(`SELECT ${orderColumns()} FROM orders o WHERE o.id = $1 FOR NO KEY UPDATE`)

/** Any order, whoever asks. Throws 404 when it is not there. `lock` holds it against other writers. */
export async function findOrder(db: Db, id: string, { lock = false } = {}): Promise<OwnedOrder> {
  const [order] = await db.sql(lock ? held : byId, [id])
  if (order === undefined) throw notFound('order', id)
  return order
}

/** What is bought of what. `amount` is what it comes to. */
export interface Line {
  priceId: string
  productName: string
  quantity: number
  unitAmount: number
  amount: number
}

export interface Basket {
  lines: Line[]
  currency: string
  total: number
  now: Date
}

interface PriceRow {
  id: string
  unit_amount: number
  currency: string
  recurring: boolean
  active: boolean
  name: string
  now: string
}

// Not held: under a steady stream of orders nobody would ever get to archive a price. What is ordered at that moment is ordered.
const readPrices = statement<PriceRow>(`
  SELECT p.id, p.unit_amount, p.currency, p.interval IS NOT NULL AS recurring, p.active AND d.active AS active, d.name, payments_now() AS now
  FROM prices p JOIN products d ON d.id = p.product_id WHERE p.id = ANY($1)`)

/**
 * What the items come to. Throws 404 for a price that is not there, and 400 naming the item whose price is not active, is of another currency,
 * or recurring where it must not be, or for a sum that is too large.
 */
export async function priceItems(tx: Db, items: OrderItems, { recurring = false } = {}): Promise<Basket> {
  const prices = new Map(
    (await tx.sql(readPrices, [[...new Set(items.map((item) => item.price_id))]])).map((price) => [
      price.id,
      price,
    ]),
  )
  const lines = items.map(({ price_id: id, quantity = 1 }, i): Line => {
    const field = `items[${i}].price_id`
    const price = prices.get(id)
    if (price === undefined) throw notFound('price', id)
    if (!price.active) throw invalidField(field, 'active', `${id} is not sold any more.`)
    if (price.recurring !== recurring)
      throw invalidField(
        field,
        'recurring',
        recurring
          ? `${id} is paid once: it is no price of a subscription.`
          : `${id} is recurring: it is subscribed to by a checkout.`,
      )
    if (price.currency !== prices.get(items[0].price_id)!.currency)
      throw invalidField(field, 'currency', 'All prices of an order are in one currency.')
    return {
      priceId: id,
      productName: price.name,
      quantity,
      unitAmount: price.unit_amount,
      amount: price.unit_amount * quantity,
    }
  })
  const total = lines.reduce((sum, { amount }) => sum + amount, 0)
  if (total > mostAmount)
    throw invalidField(
      'items',
      'max_total',
      `This would come to ${total}; an order comes to ${mostAmount} at most.`,
    )
  const [{ currency, now }] = prices.values()
  return { lines, currency, total, now: new Date(now) }
}

export interface NewOrder {
  projectId: string | null
  ownerId: string
  metadata?: Record<string, string>
  subscription?: { id: string; period: number }
}

const insert = statement<OwnedOrder>(`
  WITH o AS (
    INSERT INTO orders (id, number, project_id, owner_id, space_id, currency, total_amount, subscription_id, period, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, $4, coalesce($3, $4), $5, $6, $7, $8, $9, $10, $10) RETURNING *
  ), i AS (
    INSERT INTO order_items (order_id, position, price_id, description, quantity, unit_amount, amount)
    SELECT $1, line.position, line.price_id, line.description, line.quantity, line.unit_amount, line.quantity * line.unit_amount
    FROM unnest($11::text[], $12::text[], $13::int[], $14::bigint[]) WITH ORDINALITY AS line (price_id, description, quantity, unit_amount, position) RETURNING *
  ) SELECT ${orderColumns('i')} FROM o`)

/** A pending order. */
export async function insertOrder(
  tx: Db,
  { lines, currency, total, now }: Basket,
  { projectId, ownerId, metadata = {}, subscription }: NewOrder,
): Promise<OwnedOrder> {
  const id = newIdAt('ord', now)
  const [order] = await tx.sql(insert, [
    id,
    newNumber(now),
    projectId,
    ownerId,
    currency,
    total,
    subscription?.id ?? null,
    subscription?.period ?? null,
    metadata,
    timeOf(id),
    lines.map((line) => line.priceId),
    lines.map((line) => line.productName),
    lines.map((line) => line.quantity),
    lines.map((line) => line.unitAmount),
  ])
  return order
}

const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The day and 50 random bits, which say nothing about how much is sold: 261121-7K3M9-QX2FT. */
function newNumber(at: Date): string {
  const five = (): string => Array.from({ length: 5 }, () => digits[randomInt(32)]).join('')
  return `${at.toISOString().slice(2, 10).replaceAll('-', '')}-${five()}-${five()}`
}

export interface OrderListQuery extends PageQuery {
  sort: 'created_at' | 'total_amount'
  order: 'asc' | 'desc'
  status?: Order['status']
  subscription_id?: string
}

/** A page of the orders of a space: one statement, total included. */
export async function listOrders(db: Db, spaceId: string, query: OrderListQuery): Promise<Page<Order>> {
  const values: unknown[] = [spaceId]
  const filters = ['o.space_id = $1']
  if (query.status !== undefined) filters.push(`o.status = $${values.push(query.status)}::"OrderStatus"`)
  if (query.subscription_id !== undefined)
    filters.push(`o.subscription_id = $${values.push(query.subscription_id)}`)
  const key = query.sort === 'total_amount' ? 'o.total_amount' : 'o.id'
  return await listPage<Order>(
    db,
    { from: 'orders o', columns: `${columns()}, o.project_id`, filters, values, key, id: 'o.id' },
    query,
  )
}

/** 409 for an order that lives and ends with its subscription. */
export function requireOwnEnd({ subscription_id: subscription }: Order): void {
  if (subscription !== null)
    throw conflict('subscription', 'This order belongs to a subscription: cancel that.', 'subscription_id')
}
