// The receipt of a paid order, as a page and as a PDF.
import type { Db } from '../database.ts'
import { invalidState } from '../errors.ts'
import type { Bytes } from '../operation.ts'
import type { OwnedOrder } from './orders.ts'

/** Throws 409 while the order is not paid. */
export async function receiptOf (_db: Db, order: OwnedOrder, _options: { format: 'html' | 'pdf', seller: string }): Promise<Bytes> {
  throw invalidState('order', order.status)
}
