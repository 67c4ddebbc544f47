// The receipt of a paid order, as HTML and as PDF. One query reads its content; the same state of an order
// always gives the same bytes.
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { create as contentDisposition } from 'content-disposition'
import type { Db } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/payments.ts'
import { invalidState } from '../../../infra/errors.ts'
import type { Bytes } from '../../../infra/contract/operation.ts'
import { formatAmount } from '../currency.ts'
import type { OwnedOrder } from '../orders.ts'
import { sellerName } from '../sellers.ts'
import type { Receipt } from './model.ts'
import { renderInThread } from './pdf-thread.ts'
import { renderReceiptHtml, receiptContentSecurityPolicy } from './html.ts'

/** Renders the receipt of an order. Throws 409 when the order was never paid. */
export async function createReceipt(
  db: Db,
  order: OwnedOrder,
  { format, seller }: { format: 'html' | 'pdf'; seller: string },
): Promise<Bytes> {
  if (order.paid_at === null) throw invalidState('order', order.status)
  const { receipt } = await readReceipt(db, order, seller)
  const bytes = format === 'html' ? Buffer.from(renderReceiptHtml(receipt)) : await renderInThread(receipt)
  return {
    type: format === 'html' ? 'text/html; charset=utf-8' : 'application/pdf',
    bytes: bytes.length,
    etag: `"${hash('sha256', bytes, 'base64url')}"`,
    modifiedAt: receipt.updatedAt,
    headers: {
      'content-disposition': contentDisposition(`receipt-${order.number}.${format}`, { type: 'inline' }),
      ...(format === 'html' && { 'content-security-policy': receiptContentSecurityPolicy() }),
    },
    open: async ({ start, end } = { start: 0, end: bytes.length - 1 }) =>
      Readable.from([bytes.subarray(start, end + 1)], { objectMode: false }),
  }
}

/** The receipt of a paid order in its present state, and the address of the buyer if it is verified. */
export async function readReceipt(
  db: Db,
  order: OwnedOrder,
  operator: string,
): Promise<{ receipt: Receipt; buyerEmail: string | null }> {
  const state = await sql.readPaidState(db, { id: order.id })
  const receipt = toReceipt(order, state, await sellerName(db, order.seller_organization_id, operator))
  return { receipt, buyerEmail: state.buyer_email }
}

function toReceipt(order: OwnedOrder, state: sql.ReadPaidStateRow, seller: string): Receipt {
  const { refunded_amount: refunded, paid_at: paidAt, updated_at: updatedAt, gateway, card, refunds } = state
  const amount = (minor: number): string => formatAmount(minor, order.currency)
  return {
    seller,
    number: order.number,
    orderedOn: formatDate(order.created_at),
    paidOn: formatDate(paidAt),
    paidBy: card === null ? null : `${card.brand} ending in ${card.last4}`,
    items: order.items.map((item) => ({
      description: item.description,
      quantity: String(item.quantity),
      unitAmount: amount(item.unit_amount),
      amount: amount(item.amount),
    })),
    credit: order.credit_amount === 0 ? null : amount(order.credit_amount),
    total: amount(order.total_amount),
    refunds: refunds.map((refund) => ({ on: formatDate(refund.at), amount: amount(refund.amount) })),
    remaining: refunded === 0 ? null : amount(order.total_amount - refunded),
    warning: gateway === 'sandbox' ? 'Paid in a sandbox. No money has moved.' : null,
    paidAt: new Date(paidAt),
    updatedAt: new Date(updatedAt),
  }
}

const dateFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' })

function formatDate(time: string): string {
  return dateFormat.format(new Date(time))
}
