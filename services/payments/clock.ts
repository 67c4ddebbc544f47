// The payment clock: due dates and payment times use it. The sandbox can move it forward, never back. The
// time of a customer is the payment clock plus the offset of the customer. A transaction that locks or opens
// a sale has the time of its customer.
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'

/**
 * The current time of the payment clock, or of the customer whose time the transaction has. Read it after
 * taking locks, so that it is later than the previous holder's.
 * @param customerId gives the transaction the time of this customer.
 */
export async function paymentsNow(db: Db, customerId: string | null = null): Promise<Date> {
  const { now } = await sql.readTime(db, { customer_id: customerId })
  return new Date(now)
}

export interface TestClock {
  now: string
  offset_seconds: number
}

/** The payment clock, or the time of a customer, and how far it is ahead of real time. */
export async function testClock(db: Db, customerId: string | null = null): Promise<TestClock> {
  const { now, offset } = await sql.readClock(db, { customer_id: customerId })
  return { now, offset_seconds: Math.round(offset / 1000) }
}

/** Moves the clock, or the time of a customer, forward to a time. Does nothing if it is past it. */
export async function moveClock(db: Db, to: Date, customerId: string | null = null): Promise<void> {
  if (customerId === null) await sql.moveClock(db, { to })
  else await sql.moveCustomerClock(db, { to, customer_id: customerId })
}
