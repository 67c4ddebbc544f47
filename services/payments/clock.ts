// The payment clock: due dates and payment times use it. The sandbox can move it forward, never back.
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/payments.ts'

/**
 * The current time of the payment clock. Read it after taking locks, so that it is later than the previous
 * holder's.
 */
export async function paymentsNow(db: Db): Promise<Date> {
  const { now } = await sql.readTime(db)
  return new Date(now)
}

export interface TestClock {
  now: string
  offset_seconds: number
}

/** The payment clock and how far it is ahead of real time. */
export async function testClock(db: Db): Promise<TestClock> {
  const { now, offset } = await sql.readClock(db)
  return { now, offset_seconds: Math.round(offset / 1000) }
}

/** Moves the clock forward to a time. Does nothing if the clock is past it. */
export async function moveClock(db: Db, to: Date): Promise<void> {
  await sql.moveClock(db, { to })
}
