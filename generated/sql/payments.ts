// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * An order with its owner, without authorization.
 * @see prisma/sql/payments/find-order.sql
 */
export const findOrder = optional<{ id: string }, FindOrderRow>(
  'payments/find-order',
  `SELECT o.id, o.number, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount) ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount AS subtotal_amount, o.total_amount, o.refunded_amount, o.currency, o.checkout_id,
o.subscription_id, o.metadata, o.paid_at, o.created_at, o.updated_at, o.project_id, o.owner_id
FROM orders o
WHERE o.id = $1`,
  ['id'],
)
export interface FindOrderRow {
  id: string
  number: string
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Inserts an order with its items.
 * @see prisma/sql/payments/insert-order.sql
 */
export const insertOrder = one<{ id: string; number: string; project_id: string | null; owner_id: string; currency: string; total: number; subscription_id: string | null; period: number | null; metadata: object | string; created_at: Date | string; price_ids: readonly string[]; descriptions: readonly string[]; quantities: readonly number[]; unit_amounts: readonly number[] }, InsertOrderRow>(
  'payments/insert-order',
  `WITH o AS (
  INSERT INTO orders (id, number, project_id, owner_id, space_id, currency, total_amount, subscription_id,
    period, metadata, created_at, updated_at)
  VALUES ($1, $2, $3, $4, coalesce($3, $4), $5, $6,
    $7, $8, $9, $10, $10)
  RETURNING *
), i AS (
  INSERT INTO order_items (order_id, position, price_id, description, quantity, unit_amount, amount)
  SELECT $1, line.position, line.price_id, line.description, line.quantity, line.unit_amount,
    line.quantity * line.unit_amount
  FROM unnest($11::text[], $12::text[], $13::int[], $14::bigint[])
    WITH ORDINALITY AS line (price_id, description, quantity, unit_amount, position)
  RETURNING *
)
SELECT o.id, o.number, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount) ORDER BY i.position)
 FROM i i WHERE i.order_id = o.id) AS "items",
o.total_amount AS subtotal_amount, o.total_amount, o.refunded_amount, o.currency, o.checkout_id,
o.subscription_id, o.metadata, o.paid_at, o.created_at, o.updated_at, o.project_id, o.owner_id FROM o`,
  ['id', 'number', 'project_id', 'owner_id', 'currency', 'total', 'subscription_id', 'period', 'metadata', 'created_at', 'price_ids', 'descriptions', 'quantities', 'unit_amounts'],
)
export interface InsertOrderRow {
  id: string
  number: string
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * The orders of a workspace.
 * @see prisma/sql/payments/list-orders.sql
 */
export const listOrders = page<{ space_id: string }, { status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'; subscription_id: string }, 'created_at' | 'total_amount', ListOrdersRow>(
  'payments/list-orders',
  {
    select: `SELECT o.id, o.number, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount) ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount AS subtotal_amount, o.total_amount, o.refunded_amount, o.currency, o.checkout_id,
o.subscription_id, o.metadata, o.paid_at, o.created_at, o.updated_at, o.project_id
FROM orders o
WHERE o.space_id = $1`,
    names: ['space_id', 'status', 'subscription_id'],
    filters: {
      status: { sql: `o.status = $2` },
      subscription_id: { sql: `o.subscription_id = $3` },
    },
    sorts: {
      created_at: `o.id`,
      total_amount: `o.total_amount`,
    },
    id: `o.id`,
  },
)
export interface ListOrdersRow {
  id: string
  number: string
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * `find-order` that locks the order against other writers.
 * @see prisma/sql/payments/lock-order.sql
 */
export const lockOrder = optional<{ id: string }, LockOrderRow>(
  'payments/lock-order',
  `SELECT o.id, o.number, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount) ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount AS subtotal_amount, o.total_amount, o.refunded_amount, o.currency, o.checkout_id,
o.subscription_id, o.metadata, o.paid_at, o.created_at, o.updated_at, o.project_id, o.owner_id
FROM orders o
WHERE o.id = $1
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockOrderRow {
  id: string
  number: string
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * `read-order` that locks the order's project, but not the order: `lock-order` locks it after its
 * subscription.
 * @see prisma/sql/payments/read-order-and-lock-project.sql
 */
export const readOrderAndLockProject = optional<{ user_id: string; id: string }, ReadOrderAndLockProjectRow>(
  'payments/read-order-and-lock-project',
  `SELECT o.id, o.number, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount) ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount AS subtotal_amount, o.total_amount, o.refunded_amount, o.currency, o.checkout_id,
o.subscription_id, o.metadata, o.paid_at, o.created_at, o.updated_at, o.project_id, o.owner_id,
(SELECT your_member.role FROM members your_member
 WHERE your_member.project_id = o.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = o.project_id FOR SHARE) AS project_status
FROM orders o
WHERE o.id = $2`,
  ['user_id', 'id'],
)
export interface ReadOrderAndLockProjectRow {
  id: string
  number: string
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * An order and the caller's access to it.
 * @see prisma/sql/payments/read-order.sql
 */
export const readOrder = optional<{ user_id: string; id: string }, ReadOrderRow>(
  'payments/read-order',
  `SELECT o.id, o.number, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount) ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount AS subtotal_amount, o.total_amount, o.refunded_amount, o.currency, o.checkout_id,
o.subscription_id, o.metadata, o.paid_at, o.created_at, o.updated_at, o.project_id, o.owner_id,
(SELECT your_member.role FROM members your_member
 WHERE your_member.project_id = o.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = o.project_id) AS project_status
FROM orders o
WHERE o.id = $2`,
  ['user_id', 'id'],
)
export interface ReadOrderRow {
  id: string
  number: string
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The prices of an order's items.
 * Takes no row locks: otherwise a steady stream of orders would keep operators from archiving a price. An
 * order that is created at the same moment as the price is archived is valid.
 * @see prisma/sql/payments/read-prices.sql
 */
export const readPrices = many<{ ids: readonly string[] }, ReadPricesRow>(
  'payments/read-prices',
  `SELECT p.id, p.unit_amount, p.currency, p.interval IS NOT NULL AS recurring,
  p.active AND d.active AS active, d.name, payments_now() AS "now"
FROM prices p JOIN products d ON d.id = p.product_id
WHERE p.id = ANY($1)`,
  ['ids'],
)
export interface ReadPricesRow {
  id: string
  unit_amount: number
  currency: string
  recurring: boolean
  active: boolean
  name: string
  now: string
}
