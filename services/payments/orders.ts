// Orders: pricing, inserting and reading them. The server computes the total from prices once, at creation.
import { randomInt } from 'node:crypto'
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction, SqlClient } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import { conflict, invalidField, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Page } from '../../infra/database/pagination.ts'
import type { Principal } from '../users/authentication.ts'
import { maxOrderAmount } from './currency.ts'
import { requireSaleAccess, type SalesFilter } from './sales.ts'

export type Order = components['schemas']['Order']
type OrderItems = components['schemas']['OrderItems']
type OrderItem = components['schemas']['OrderItem']

/** An order with its owner, whom the API does not return: the user, or a customer without one. */
export type OwnedOrder = Order & { owner_id: string; customer_id: string }

export function toOrder({ owner_id: _owner, ...order }: OwnedOrder): Order {
  return order
}

/** The row with its owner: of a customer without a user, the customer. */
export function withOwner<Row extends { owner_id: string | null; customer_id: string }>(
  row: Row | undefined,
): (Row & { owner_id: string }) | undefined {
  return row && { ...row, owner_id: row.owner_id ?? row.customer_id }
}

export interface OrderRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  noteProject?(id: string): void
}

/**
 * Reads the order that the request names, if the caller is authorized for the operation.
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
  const read = lockProject ? sql.readOrderAndLockProject : sql.readOrder
  const found = withOwner(await read(db, { id, user_id: principal.userId }))
  const row = await requireSaleAccess(db, found, request, { name: 'order', id })
  const { your_role: _role, project_status: _project, ...order } = row
  return order
}

/**
 * Reads an order without authorization. Throws 404 if there is none. `lock` locks the row against other
 * writers.
 */
export async function findOrder(db: Db, id: string, { lock = false } = {}): Promise<OwnedOrder> {
  const order = await (lock ? sql.lockOrder : sql.findOrder)(db, { id })
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
  /** The usage that the line charges. */
  usage?: OrderItem['usage']
}

export interface PricedItems {
  lines: OrderLine[]
  /** Whether a price charges usage, too. */
  hasUsage: boolean
  currency: Order['currency']
  total: number
  /** The billing period of recurring prices, such as `1 month`; null for one-time prices. */
  interval: string | null
  /** The trial of the first price, for its product. */
  trial: { days: number; productId: string }
  now: Date
}

interface PriceOptions {
  recurring?: boolean
  kept?: OrderItems
  seller?: string | null
  customerId?: string | null
}

/**
 * Computes the lines and the total of an order. Throws 404 for an unknown price. Throws 400, naming the item,
 * for an inactive price, mixed currencies or billing periods, or the wrong price type, and 400 for a total
 * above the maximum.
 * @param options.recurring true if the prices must be recurring, false if they must be one-time.
 * @param options.kept items that may have an inactive price, because the subscription has it.
 * @param options.seller the organization that sells; default: the operator. The others' prices are unknown.
 * @param options.customerId the customer whose time it is, if the transaction does not have it.
 */
export async function priceItems(
  db: Db,
  items: OrderItems,
  { recurring = false, kept = [], seller = null, customerId = null }: PriceOptions = {},
): Promise<PricedItems> {
  const prices = new Map(
    (
      await sql.readPrices(db, {
        ids: [...new Set(items.map((item) => item.price_id))],
        customer_id: customerId,
      })
    ).map((price) => [price.id, price]),
  )
  const lines = items.map(({ price_id: id, quantity = 1 }, i): OrderLine => {
    const field = `items[${i}].price_id`
    const price = prices.get(id)
    const isKept = kept.some((item) => item.price_id === id)
    if (price === undefined || (price.organization_id !== seller && !isKept)) throw notFound('price', id)
    if (!price.active && !isKept) throw invalidField(field, 'active', `The price ${id} is not active.`)
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
    if (intervalOf(price) !== intervalOf(prices.get(items[0].price_id)!))
      throw invalidField(field, 'interval', 'All prices of a subscription must have the same billing period.')
    return {
      priceId: id,
      productName: price.name,
      quantity,
      unitAmount: price.unit_amount,
      amount: price.unit_amount * quantity,
    }
  })
  const total = totalOf(lines)
  if (total > maxOrderAmount)
    throw invalidField('items', 'max_total', `The order total is ${total}; the maximum is ${maxOrderAmount}.`)
  const first = prices.get(items[0].price_id)!
  return {
    lines,
    hasUsage: [...prices.values()].some(({ has_usage: has }) => has),
    currency: first.currency,
    total,
    interval: intervalOf(first),
    trial: { days: first.trial_days, productId: first.product_id },
    now: new Date(first.now),
  }
}

function intervalOf({ interval, interval_count: count }: sql.ReadPricesRow): string | null {
  return interval === null ? null : `${count} ${interval}`
}

export interface NewOrder {
  projectId: string | null
  /** The user, or a customer without one. */
  ownerId: string
  /** The user who creates the order; default: none, for orders of the platform. */
  createdBy?: string
  metadata?: Record<string, string>
  /** `period` is null for the order of a change. */
  subscription?: { id: string; period: number | null }
  /** Default: a new id. */
  id?: string
  /** The part of the total that a credit pays. */
  credit?: number
}

/** Inserts a pending order. */
export async function insertOrder(
  tx: Transaction,
  { lines, currency, total, now }: Pick<PricedItems, 'lines' | 'total' | 'now'> & { currency: string },
  {
    projectId,
    ownerId,
    createdBy,
    metadata = {},
    subscription,
    id = newIdAt('ord', now),
    credit = 0,
  }: NewOrder,
): Promise<OwnedOrder> {
  return await sql.insertOrder(tx, {
    id,
    number: newOrderNumber(now),
    project_id: projectId,
    owner_id: ownerId,
    currency,
    credit,
    total: total - credit,
    subscription_id: subscription?.id ?? null,
    period: subscription?.period ?? null,
    metadata,
    created_by: createdBy ?? null,
    created_at: timeOf(id),
    price_ids: lines.map((line) => line.priceId),
    descriptions: lines.map((line) => line.productName),
    quantities: lines.map((line) => line.quantity),
    unit_amounts: lines.map((line) => line.unitAmount),
    usages: lines.map(({ usage }) => (usage == null ? null : JSON.stringify(usage))),
  })
}

/** The line as the API returns it. */
export function toOrderItem({
  priceId,
  productName,
  quantity,
  unitAmount,
  amount,
  usage,
}: OrderLine): OrderItem {
  return {
    price_id: priceId,
    description: productName,
    quantity,
    unit_amount: unitAmount,
    amount,
    usage: usage ?? null,
  }
}

/** The item of an order as a line of another one. */
export function toOrderLine({
  price_id: priceId,
  description: productName,
  quantity,
  unit_amount: unitAmount,
  amount,
  usage,
}: OrderItem): OrderLine {
  return { priceId, productName, quantity, unitAmount, amount, usage }
}

/** The sum of the lines, in minor units. */
export function totalOf(lines: OrderLine[]): number {
  return lines.reduce((sum, { amount }) => sum + amount, 0)
}

/** The line for what changes within the last period added to the next order. */
export function owedLine(priceId: string, amount: number): OrderLine {
  return { priceId, productName: 'Changes in the last period', quantity: 1, unitAmount: amount, amount }
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

/** A page of orders. One statement, including the total. */
export async function listOrders(
  db: SqlClient,
  filter: SalesFilter,
  query: ListQuery<'listOrders'>,
): Promise<Page<Order>> {
  return await sql.listOrders(db, { ...query, ...filter })
}

/** Throws 409 for an order of a subscription that has not ended: it is canceled together with that. */
export function requireNoSubscription(subscription: { status: string } | null): void {
  if (subscription !== null && subscription.status !== 'canceled')
    throw conflict(
      'subscription',
      'This order belongs to a subscription. Cancel the subscription instead.',
      'subscription_id',
    )
}
