// Refunds as the API shows them. Together they never come to more than was paid: what is asked for is set aside on the order,
// which is held, before the gateway hears of it.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { invalidField, invalidState, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { listPage, type Page, type PageQuery } from '../../infra/database/pagination.ts'
import { findOrder, orderColumns, type OwnedOrder } from './orders.ts'
import type { SettleServices } from './gateway.ts'

export type Refund = components['schemas']['Refund']

const columns =
  'r.id, r.order_id, o.project_id, r.amount, r.currency, r.status::text, r.reason, r.metadata, r.created_at, r.updated_at'
const from = 'refunds r JOIN orders o ON o.id = r.order_id'
const byId = statement<Refund>(`SELECT ${columns} FROM ${from} WHERE r.id = $1`)
const byOrder = statement<Refund>(`SELECT ${columns} FROM ${from} WHERE r.order_id = $1 AND r.id = $2`)

/** Throws 404 unless it is one of the order. */
export async function findRefund(db: Db, orderId: string, id: string): Promise<Refund> {
  const [refund] = await db.sql(byOrder, [orderId, id])
  if (refund === undefined) throw notFound('refund', id)
  return refund
}

export interface RefundListQuery extends PageQuery {
  sort: 'created_at' | 'amount'
  order: 'asc' | 'desc'
}

/** A page of the refunds of an order: one statement, total included. */
export async function listRefunds(db: Db, orderId: string, query: RefundListQuery): Promise<Page<Refund>> {
  return await listPage<Refund>(
    db,
    {
      from,
      columns,
      filters: ['r.order_id = $1'],
      values: [orderId],
      key: query.sort === 'amount' ? 'r.amount' : 'r.id',
      id: 'r.id',
    },
    query,
  )
}

interface Refundable {
  left: number
  payment_id: string
  gateway: string
  gateway_reference: string | null
  now: string
}

const refundable = statement<Refundable>(`
  SELECT o.total_amount - o.refunded_amount - o.refunding_amount AS left, p.id AS payment_id, p.gateway, p.gateway_reference, payments_now() AS now
  FROM orders o JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded' WHERE o.id = $1`)
const setAside = statement('UPDATE orders SET refunding_amount = refunding_amount + $2 WHERE id = $1')
const insert = statement(`
  INSERT INTO refunds (id, order_id, payment_id, amount, currency, reason, metadata, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`)

/**
 * Gives back a part of what was paid for an order, or all that is left of it. Throws 409 unless it is paid and something is left, and 400 for more
 * than that.
 */
export async function refundOrder(
  tx: Db,
  services: SettleServices,
  orderId: string,
  { amount, reason, metadata = {} }: components['schemas']['RefundCreate'],
): Promise<Refund> {
  const order = await findOrder(tx, orderId, { lock: true })
  if (order.status !== 'paid' && order.status !== 'partially_refunded')
    throw invalidState('order', order.status)
  const [{ left, payment_id: paymentId, gateway, gateway_reference: reference, now }] = await tx.sql(
    refundable,
    [orderId],
  )
  if (left === 0)
    throw invalidState('order', order.status, 'All that was paid for the order is being given back already.')
  const wanted = amount ?? left
  if (wanted > left)
    throw invalidField('amount', 'maximum', `Of this order ${left} are left to be given back.`)
  services.gateways.of(gateway).requireAmount(wanted, order.currency, 'amount')
  await tx.sql(setAside, [orderId, wanted])
  const id = newIdAt('ref', new Date(now))
  await tx.sql(insert, [id, orderId, paymentId, wanted, order.currency, reason ?? null, metadata, timeOf(id)])
  const outcome = await services.gateways
    .of(gateway)
    .refund(tx, { id, amount: wanted, currency: order.currency }, { id: paymentId, reference })
  if (outcome === 'succeeded') await tx.sql(conclude, [id, 'succeeded', null, timeOf(id)])
  const [refund] = await tx.sql(byId, [id])
  await services.events.emit(tx, 'refund.created', refund, { userId: order.owner_id })
  if (outcome === 'succeeded') await countRefund(tx, services, order, wanted, timeOf(id))
  return refund
}

const conclude = statement<{ amount: number }>(`
  UPDATE refunds SET status = $2::"RefundStatus", gateway_reference = coalesce($3, gateway_reference), updated_at = greatest($4, updated_at)
  WHERE id = $1 AND status = 'pending' RETURNING amount`)
const release = statement('UPDATE orders SET refunding_amount = refunding_amount - $2 WHERE id = $1')
const orderOf = statement<{ order_id: string }>('SELECT order_id FROM refunds WHERE id = $1')

/** A gateway has said how a refund went. Told again it has no effect. */
export async function concludeRefund(
  tx: Db,
  services: SettleServices,
  id: string,
  { succeeded, reference, at }: { succeeded: boolean; reference: string | null; at: Date },
): Promise<void> {
  const [found] = await tx.sql(orderOf, [id])
  if (found === undefined) return
  const order = await findOrder(tx, found.order_id, { lock: true })
  const [previous] = await tx.sql(byId, [id])
  const [done] = await tx.sql(conclude, [id, succeeded ? 'succeeded' : 'failed', reference, at])
  if (done === undefined) return
  const [refund] = await tx.sql(byId, [id])
  await services.events.emit(tx, 'refund.updated', refund, { previous, userId: order.owner_id })
  if (succeeded) await countRefund(tx, services, order, done.amount, at)
  else await tx.sql(release, [order.id, done.amount])
}

const count = statement<OwnedOrder>(`
  UPDATE orders o SET refunding_amount = refunding_amount - $2, refunded_amount = refunded_amount + $2,
    status = CASE WHEN refunded_amount + $2 = total_amount THEN 'refunded' ELSE 'partially_refunded' END::"OrderStatus",
    updated_at = greatest($3, updated_at + interval '1 millisecond')
  WHERE id = $1 AND status IN ('paid', 'partially_refunded') RETURNING ${orderColumns()}`)

/** What was set aside of an order that is held has been given back. */
async function countRefund(
  tx: Db,
  { events }: SettleServices,
  previous: OwnedOrder,
  amount: number,
  at: Date,
): Promise<void> {
  const [refunded] = await tx.sql(count, [previous.id, amount, at])
  await events.emit(tx, 'order.refunded', refunded, { previous, userId: previous.owner_id })
}
