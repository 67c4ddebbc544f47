// The ledger: double-entry bookkeeping of captures, refunds, lost disputes and credits. Each transfer debits
// one account and credits another, so that the ledger always balances. The database keeps the credit of a
// customer, the account `balance`, from becoming negative.
import type { Transaction } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'
import type { OwnedOrder } from './orders.ts'

type Account = 'gateway' | 'revenue' | 'balance' | 'held' | 'late' | 'disputes'

/** A debit of the first account and a credit of the second, in minor units. */
export type Transfer = [debit: Account, credit: Account, amount: number]

/** What transfers are about. */
export interface LedgerSubject {
  customerId: string
  orderId: string | null
  currency: string
  at: Date
}

export function subjectOf(
  { id, customer_id: customerId, currency }: Pick<OwnedOrder, 'id' | 'customer_id'> & { currency: string },
  at: Date,
): LedgerSubject {
  return { customerId, orderId: id, currency, at }
}

/** Records transfers. Those of the amount 0 are left out. */
export function post(tx: Transaction, subject: LedgerSubject, transfers: Transfer[]): void {
  const posted = transfers.filter(([, , amount]) => amount > 0)
  if (posted.length === 0) return
  const { customerId, orderId, currency, at } = subject
  const rows = {
    debits: posted.map(([debit]) => debit),
    credits: posted.map(([, credit]) => credit),
    amounts: posted.map(([, , amount]) => amount),
    customer_id: customerId,
    order_id: orderId,
    currency,
    created_at: at,
  }
  // Its error is that of the transaction.
  sql.postTransfers(tx.later, rows).catch(() => {})
}

/**
 * The part of an amount that the credit of a customer pays. The balance is locked; hold the part with `post`
 * for the order.
 */
export async function creditFor(
  tx: Transaction,
  { customerId, currency }: Pick<LedgerSubject, 'customerId' | 'currency'>,
  amount: number,
): Promise<number> {
  if (amount === 0) return 0
  const found = await sql.lockBalance(tx, { customer_id: customerId, currency })
  return Math.min(found?.amount ?? 0, amount)
}

/** Transfers the credit that an order holds: to `revenue` when it is paid, back to `balance` otherwise. */
export async function releaseHeld(
  tx: Transaction,
  order: OwnedOrder,
  to: 'revenue' | 'balance',
  at: Date,
): Promise<void> {
  if (order.credit_amount > 0) await sql.releaseHeld(tx, { order_id: order.id, to, at })
}
