// Payments: the attempts to pay an order, as the API returns them. settle.ts records them.
import type { components } from '../../generated/types.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { Db, SqlClient } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import * as sql from '../../generated/sql/payments.ts'
import type { OrderRequest } from './orders.ts'
import { requireSaleAccess, type SalesFilter } from './sales.ts'

export type Payment = components['schemas']['Payment']

/** Reads the payment that the request names, if the caller has access to it. */
export async function openPayment(db: Db, request: OrderRequest): Promise<Payment> {
  const { id } = request.params
  const found = await sql.readPayment(db, { id, user_id: request.principal.userId })
  const row = await requireSaleAccess(db, found, request, { name: 'payment', id })
  const { your_role: _role, project_status: _project, owner_id: _owner, ...payment } = row
  return toPayment(payment)
}

/** A page of payments. One statement, including the total. */
export async function listPayments(
  db: SqlClient,
  filter: SalesFilter,
  query: ListQuery<'listPayments'>,
): Promise<Page<Payment>> {
  const page = await sql.listPayments(db, { ...query, ...filter })
  return { ...page, data: page.data.map(toPayment) }
}

export function toPayment(row: sql.ListPaymentsRow): Payment {
  const { failure_code: code } = row
  return { ...row, failure_message: code === null ? null : (messages[code] ?? 'The payment failed.') }
}

/** The failure codes of this platform, and the frequent ones of Stripe. */
const messages: Record<string, string> = {
  card_declined: 'The card was declined.',
  insufficient_funds: 'The card has insufficient funds.',
  expired_card: 'The card has expired.',
  incorrect_cvc: 'The security code of the card is wrong.',
  authentication_required: 'The bank requires the customer to confirm the payment.',
  debit_not_authorized: 'The bank did not authorize the debit.',
  not_confirmed: 'The customer did not confirm the payment.',
  expired: 'The checkout session ended before the payment was confirmed.',
  superseded: 'The customer began another payment.',
  payment_method_required: 'The customer has no stored card.',
  canceled: 'The order was canceled before the card was charged.',
  void: 'The invoice was voided.',
}
