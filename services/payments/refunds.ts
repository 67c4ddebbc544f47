// Refunds. Refunds of an order never exceed its paid amount: the amount is reserved on the locked order
// (`refunding_amount`) before the gateway is asked.
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, Transaction, SqlClient } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import { invalidField, invalidState, notFound } from '../../infra/errors.ts'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { dropQuotedChange } from './change-subscription.ts'
import { post, subjectOf } from './ledger.ts'
import { findOrder, type Order, type OrderRequest, type OwnedOrder } from './orders.ts'
import type { PaymentServices } from './gateway.ts'
import { requireSaleAccess, type SalesFilter } from './sales.ts'

export type Refund = components['schemas']['Refund']

/** Reads the refund that the request names, if the caller has access to it. */
export async function openRefund(db: Db, request: OrderRequest): Promise<Refund> {
  const { id } = request.params
  const found = await sql.findRefundAccess(db, { id, user_id: request.principal.userId })
  await requireSaleAccess(db, found, request, { name: 'refund', id })
  return await sql.readRefund(db, { id })
}

/** Throws 404 unless the order has this refund. */
export async function findRefund(db: Db, orderId: string, id: string): Promise<Refund> {
  const refund = await sql.findRefund(db, { order_id: orderId, id })
  if (refund === undefined) throw notFound('refund', id)
  return refund
}

/** A page of the refunds of an order. One statement, including the total. */
export async function listRefunds(
  db: Db,
  orderId: string,
  query: ListQuery<'listRefunds'>,
): Promise<Page<Refund>> {
  return await sql.listRefunds(db, { order_id: orderId, ...query })
}

/** A page of the refunds of all orders. One statement, including the total. */
export async function listAllRefunds(
  db: SqlClient,
  filter: SalesFilter,
  query: ListQuery<'listAllRefunds'>,
): Promise<Page<Refund>> {
  return await sql.listAllRefunds(db, { ...query, ...filter })
}

/**
 * Refunds a part of an order, or the whole remaining amount if `amount` is absent. Throws 409 when the order
 * is free, is not paid, is disputed or nothing remains, and 400 for more than the remaining amount. Drops a
 * change of its subscription that waits for its payment.
 */
export async function refundOrder(
  tx: Transaction,
  services: PaymentServices,
  { id: orderId, subscription_id: subscriptionId }: Order,
  { amount, reason, metadata = {} }: components['schemas']['RefundCreate'],
): Promise<Refund> {
  if (subscriptionId !== null) await dropQuotedChange(tx, services, orderId)
  const order = await findOrder(tx, orderId, { lock: true })
  if (order.status !== 'paid' && order.status !== 'partially_refunded')
    throw invalidState('order', order.status)
  if (order.total_amount === 0)
    throw invalidState(
      'order',
      'free',
      'The total of the order is 0: nothing can be refunded.',
      'total_amount',
    )
  const found = await sql.readRefundable(tx, { order_id: orderId })
  const { available, disputed, payment_id: paymentId, gateway, gateway_reference: reference, now } = found
  if (disputed)
    throw invalidState(
      'order',
      'disputed',
      'The payment is disputed: the bank decides about the money, or has given it to the customer.',
      'status',
    )
  if (available === 0)
    throw invalidState(
      'order',
      'refunded',
      'The full amount of the order has been refunded or is being refunded.',
      'refunded_amount',
    )
  const refundAmount = amount ?? available
  if (refundAmount > available)
    throw invalidField('amount', 'maximum', `The amount exceeds the refundable amount of ${available}.`)
  services.gateways.of(gateway).requireAmount(refundAmount, order.currency, 'amount')
  await sql.reserveRefund(tx, { order_id: orderId, amount: refundAmount })
  const id = newIdAt('ref', new Date(now))
  await sql.insertRefund(tx, {
    id,
    order_id: orderId,
    payment_id: paymentId,
    amount: refundAmount,
    currency: order.currency,
    reason: reason ?? null,
    metadata,
    created_at: timeOf(id),
  })
  const outcome = await services.gateways
    .of(gateway)
    .refund(tx, { id, amount: refundAmount, currency: order.currency }, { id: paymentId, reference })
  if (outcome === 'succeeded')
    await sql.setRefundOutcome(tx, { id, status: outcome, gateway_reference: null, at: timeOf(id) })
  const refund = await sql.readRefund(tx, { id })
  await services.events.emit(tx, 'refund.created', refund, { userId: order.owner_id })
  if (outcome === 'succeeded') await addToRefundedAmount(tx, services, order, refund, timeOf(id))
  return refund
}

/** Records the outcome of a pending refund. Idempotent. */
export async function completeRefund(
  tx: Transaction,
  services: PaymentServices,
  id: string,
  { succeeded, reference, at }: { succeeded: boolean; reference: string | null; at: Date },
): Promise<void> {
  const found = await sql.findOrderOfRefund(tx, { id })
  if (found === undefined) return
  const order = await findOrder(tx, found.order_id, { lock: true })
  const previous = await sql.readRefund(tx, { id })
  const status = succeeded ? 'succeeded' : 'failed'
  const updated = await sql.setRefundOutcome(tx, { id, status, gateway_reference: reference, at })
  if (updated === undefined) return
  const refund = await sql.readRefund(tx, { id })
  await services.events.emit(tx, 'refund.updated', refund, { previous, userId: order.owner_id })
  if (succeeded) await addToRefundedAmount(tx, services, order, refund, at)
  else await sql.releaseRefund(tx, { order_id: order.id, amount: updated.amount })
}

/** Moves the reserved amount of a refund of a locked order to its refunded amount, and mails the buyer. */
async function addToRefundedAmount(
  tx: Transaction,
  { events, receiptMails }: PaymentServices,
  previous: OwnedOrder,
  refund: Refund,
  at: Date,
): Promise<void> {
  const { amount } = refund
  const refunded = await sql.addRefundedAmount(tx, { order_id: previous.id, amount, at })
  post(tx, subjectOf(previous, at), [['revenue', 'gateway', amount]])
  await events.emit(tx, 'order.refunded', refunded, { previous, userId: previous.owner_id })
  await receiptMails.refunded(tx, refunded, refund)
}
