// Refunds. Refunds of an order never exceed its paid amount: the amount is reserved on the locked order
// (`refunding_amount`) before the gateway is asked.
import type { components } from '../../generated/types.ts'
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { invalidField, invalidState, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { listPage, type Page, type PageQuery } from '../../infra/database/pagination.ts'
import { findOrder, orderColumns, type OwnedOrder } from './orders.ts'
import type { PaymentServices } from './gateway.ts'

export type Refund = components['schemas']['Refund']

const columns = `r.id, r.order_id, o.project_id, r.amount, r.currency, r.status::text, r.reason, r.metadata,
  r.created_at, r.updated_at`
const from = 'refunds r JOIN orders o ON o.id = r.order_id'
const byId = statement<Refund>(`SELECT ${columns} FROM ${from} WHERE r.id = $1`)
const byOrder = statement<Refund>(`SELECT ${columns} FROM ${from} WHERE r.order_id = $1 AND r.id = $2`)

/** Throws 404 unless the order has this refund. */
export async function findRefund(db: Db, orderId: string, id: string): Promise<Refund> {
  const [refund] = await db.sql(byOrder, [orderId, id])
  if (refund === undefined) throw notFound('refund', id)
  return refund
}

export interface RefundListQuery extends PageQuery {
  sort: 'created_at' | 'amount'
  order: 'asc' | 'desc'
}

/** A page of the refunds of an order. One statement, including the total. */
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
  available: number
  payment_id: string
  gateway: string
  gateway_reference: string | null
  now: string
}

const refundable = statement<Refundable>(`
  SELECT o.total_amount - o.refunded_amount - o.refunding_amount AS available, p.id AS payment_id, p.gateway,
    p.gateway_reference, payments_now() AS now
  FROM orders o JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded' WHERE o.id = $1`)
const reserveAmount = statement('UPDATE orders SET refunding_amount = refunding_amount + $2 WHERE id = $1')
const insert = statement(`
  INSERT INTO refunds (id, order_id, payment_id, amount, currency, reason, metadata, created_at, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)`)

/**
 * Refunds a part of an order, or the whole remaining amount if `amount` is absent. Throws 409 when the order
 * is not paid or nothing remains, and 400 for more than the remaining amount.
 */
export async function refundOrder(
  tx: Db,
  services: PaymentServices,
  orderId: string,
  { amount, reason, metadata = {} }: components['schemas']['RefundCreate'],
): Promise<Refund> {
  const order = await findOrder(tx, orderId, { lock: true })
  if (order.status !== 'paid' && order.status !== 'partially_refunded')
    throw invalidState('order', order.status)
  const [found] = await tx.sql(refundable, [orderId])
  const { available, payment_id: paymentId, gateway, gateway_reference: reference, now } = found
  if (available === 0)
    throw invalidState(
      'order',
      order.status,
      'The full amount of the order has been refunded or is being refunded.',
    )
  const refundAmount = amount ?? available
  if (refundAmount > available)
    throw invalidField('amount', 'maximum', `The amount exceeds the refundable amount of ${available}.`)
  services.gateways.of(gateway).requireAmount(refundAmount, order.currency, 'amount')
  await tx.sql(reserveAmount, [orderId, refundAmount])
  const id = newIdAt('ref', new Date(now))
  await tx.sql(insert, [
    id,
    orderId,
    paymentId,
    refundAmount,
    order.currency,
    reason ?? null,
    metadata,
    timeOf(id),
  ])
  const outcome = await services.gateways
    .of(gateway)
    .refund(tx, { id, amount: refundAmount, currency: order.currency }, { id: paymentId, reference })
  if (outcome === 'succeeded') await tx.sql(setOutcome, [id, 'succeeded', null, timeOf(id)])
  const [refund] = await tx.sql(byId, [id])
  await services.events.emit(tx, 'refund.created', refund, { userId: order.owner_id })
  if (outcome === 'succeeded') await addToRefundedAmount(tx, services, order, refundAmount, timeOf(id))
  return refund
}

const setOutcome = statement<{ amount: number }>(`
  UPDATE refunds SET status = $2::"RefundStatus", gateway_reference = coalesce($3, gateway_reference),
    updated_at = greatest($4, updated_at)
  WHERE id = $1 AND status = 'pending' RETURNING amount`)
const releaseAmount = statement('UPDATE orders SET refunding_amount = refunding_amount - $2 WHERE id = $1')
const orderOfRefund = statement<{ order_id: string }>('SELECT order_id FROM refunds WHERE id = $1')

/** Records the outcome of a pending refund. Idempotent. */
export async function completeRefund(
  tx: Db,
  services: PaymentServices,
  id: string,
  { succeeded, reference, at }: { succeeded: boolean; reference: string | null; at: Date },
): Promise<void> {
  const [found] = await tx.sql(orderOfRefund, [id])
  if (found === undefined) return
  const order = await findOrder(tx, found.order_id, { lock: true })
  const [previous] = await tx.sql(byId, [id])
  const [updated] = await tx.sql(setOutcome, [id, succeeded ? 'succeeded' : 'failed', reference, at])
  if (updated === undefined) return
  const [refund] = await tx.sql(byId, [id])
  await services.events.emit(tx, 'refund.updated', refund, { previous, userId: order.owner_id })
  if (succeeded) await addToRefundedAmount(tx, services, order, updated.amount, at)
  else await tx.sql(releaseAmount, [order.id, updated.amount])
}

const addRefunded = statement<OwnedOrder>(`
  UPDATE orders o SET refunding_amount = refunding_amount - $2, refunded_amount = refunded_amount + $2,
    status = CASE WHEN refunded_amount + $2 = total_amount
      THEN 'refunded' ELSE 'partially_refunded' END::"OrderStatus",
    updated_at = greatest($3, updated_at + interval '1 millisecond')
  WHERE id = $1 AND status IN ('paid', 'partially_refunded') RETURNING ${orderColumns()}`)

/** Moves a reserved amount of a locked order to its refunded amount. */
async function addToRefundedAmount(
  tx: Db,
  { events }: PaymentServices,
  previous: OwnedOrder,
  amount: number,
  at: Date,
): Promise<void> {
  const [refunded] = await tx.sql(addRefunded, [previous.id, amount, at])
  await events.emit(tx, 'order.refunded', refunded, { previous, userId: previous.owner_id })
}
