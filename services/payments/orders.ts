// Orders: pricing, inserting and reading them. The server computes the total from prices once, at creation.
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

/** An order with its owner. */
export type OwnedOrder = Order & { owner_id: string }

/** The maximum total of an order, in minor units. */
const maxOrderAmount = 999_999_999_999

const columns = (items = 'order_items'): string => `o.id, o.number, o.status::text,
  (SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
    'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount) ORDER BY i.position)
    FROM ${items} i WHERE i.order_id = o.id) AS items,
  o.total_amount AS subtotal_amount, o.total_amount, o.refunded_amount, o.currency, o.checkout_id,
  o.subscription_id, o.metadata, o.paid_at, o.created_at, o.updated_at`
/** Columns of `orders`, under the alias o, with the items from the table or CTE `items`. */
export const orderColumns = (items?: string): string => `${columns(items)}, o.project_id, o.owner_id`

const read = (lockProject: boolean) =>
  statement<Order & WorkspaceResource>(
    `SELECT ${columns()}, ${accessColumns('o', '$2', { lock: lockProject })} FROM orders o WHERE o.id = $1`,
  )
const readOrder = read(false)
const readAndLockProject = read(true)

export interface OrderRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/**
 * Reads the order that the request names, if the caller is authorized for the operation. One statement.
 * @param options.lockProject locks the order's project, but not the order: `lockOrder` locks it after its
 * subscription.
 */
export async function openOrder(
  db: Db,
  request: OrderRequest,
  { lockProject = false } = {},
): Promise<OwnedOrder> {
  const {
    params: { id },
    principal,
  } = request
  const [row] = await db.sql(lockProject ? readAndLockProject : readOrder, [id, principal.userId])
  requireAccess(row, request, { name: 'order', id })
  const { your_role: _role, project_status: _project, ...order } = row
  return order
}

const byId = statement<OwnedOrder>(`SELECT ${orderColumns()} FROM orders o WHERE o.id = $1`)
const lockById = statement<OwnedOrder>(
  `SELECT ${orderColumns()} FROM orders o WHERE o.id = $1 FOR NO KEY UPDATE`,
)

/**
 * Reads an order without authorization. Throws 404 if there is none. `lock` locks the row against other
 * writers.
 */
export async function findOrder(db: Db, id: string, { lock = false } = {}): Promise<OwnedOrder> {
  const [order] = await db.sql(lock ? lockById : byId, [id])
  if (order === undefined) throw notFound('order', id)
  return order
}

/** A line of an order. `amount` is `unitAmount` times `quantity`, in minor units. */
export interface OrderLine {
  priceId: string
  productName: string
  quantity: number
  unitAmount: number
  amount: number
}

export interface PricedItems {
  lines: OrderLine[]
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

// Takes no row locks: otherwise a steady stream of orders would keep operators from archiving a price. An
// order that is created at the same moment as the price is archived is valid.
const readPrices = statement<PriceRow>(`
  SELECT p.id, p.unit_amount, p.currency, p.interval IS NOT NULL AS recurring,
    p.active AND d.active AS active, d.name, payments_now() AS now
  FROM prices p JOIN products d ON d.id = p.product_id WHERE p.id = ANY($1)`)

/**
 * Computes the lines and the total of an order. Throws 404 for an unknown price. Throws 400, naming the item,
 * for an inactive price, mixed currencies or the wrong price type, and 400 for a total above the maximum.
 * @param options.recurring true if the prices must be recurring, false if they must be one-time.
 */
export async function priceItems(
  tx: Db,
  items: OrderItems,
  { recurring = false } = {},
): Promise<PricedItems> {
  const prices = new Map(
    (await tx.sql(readPrices, [[...new Set(items.map((item) => item.price_id))]])).map((price) => [
      price.id,
      price,
    ]),
  )
  const lines = items.map(({ price_id: id, quantity = 1 }, i): OrderLine => {
    const field = `items[${i}].price_id`
    const price = prices.get(id)
    if (price === undefined) throw notFound('price', id)
    if (!price.active) throw invalidField(field, 'active', `The price ${id} is not active.`)
    if (price.recurring !== recurring)
      throw invalidField(
        field,
        'recurring',
        recurring
          ? `The price ${id} is not recurring; a subscription requires a recurring price.`
          : `The price ${id} is recurring; use a checkout session with mode "subscription".`,
      )
    if (price.currency !== prices.get(items[0].price_id)!.currency)
      throw invalidField(field, 'currency', 'All prices of an order must have the same currency.')
    return {
      priceId: id,
      productName: price.name,
      quantity,
      unitAmount: price.unit_amount,
      amount: price.unit_amount * quantity,
    }
  })
  const total = lines.reduce((sum, { amount }) => sum + amount, 0)
  if (total > maxOrderAmount)
    throw invalidField('items', 'max_total', `The order total is ${total}; the maximum is ${maxOrderAmount}.`)
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
    INSERT INTO orders (id, number, project_id, owner_id, space_id, currency, total_amount, subscription_id,
      period, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, $4, coalesce($3, $4), $5, $6, $7, $8, $9, $10, $10) RETURNING *
  ), i AS (
    INSERT INTO order_items (order_id, position, price_id, description, quantity, unit_amount, amount)
    SELECT $1, line.position, line.price_id, line.description, line.quantity, line.unit_amount,
      line.quantity * line.unit_amount
    FROM unnest($11::text[], $12::text[], $13::int[], $14::bigint[])
      WITH ORDINALITY AS line (price_id, description, quantity, unit_amount, position) RETURNING *
  ) SELECT ${orderColumns('i')} FROM o`)

/** Inserts a pending order. */
export async function insertOrder(
  tx: Db,
  { lines, currency, total, now }: PricedItems,
  { projectId, ownerId, metadata = {}, subscription }: NewOrder,
): Promise<OwnedOrder> {
  const id = newIdAt('ord', now)
  const [order] = await tx.sql(insert, [
    id,
    newOrderNumber(now),
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

const crockfordBase32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * The date and 50 random bits, e.g. 261121-7K3M9-QX2FT. Not sequential, so that it does not reveal the sales
 * volume.
 */
function newOrderNumber(at: Date): string {
  const group = (): string => Array.from({ length: 5 }, () => crockfordBase32[randomInt(32)]).join('')
  return `${at.toISOString().slice(2, 10).replaceAll('-', '')}-${group()}-${group()}`
}

export interface OrderListQuery extends PageQuery {
  sort: 'created_at' | 'total_amount'
  order: 'asc' | 'desc'
  status?: Order['status']
  subscription_id?: string
}

/** A page of the orders of a workspace. One statement, including the total. */
export async function listOrders(db: Db, workspaceId: string, query: OrderListQuery): Promise<Page<Order>> {
  const values: unknown[] = [workspaceId]
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

/** Throws 409 for an order of a subscription: it is canceled only together with its subscription. */
export function requireNotSubscriptionOrder({ subscription_id: subscription }: Order): void {
  if (subscription !== null)
    throw conflict(
      'subscription',
      'This order belongs to a subscription. Cancel the subscription instead.',
      'subscription_id',
    )
}
