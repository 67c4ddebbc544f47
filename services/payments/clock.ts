// The payment clock: due dates and payment times use it. The sandbox can move it forward, never back.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'

const read = statement<{ now: string }>('SELECT payments_now() AS now')

/**
 * The current time of the payment clock. Read it after taking locks, so that it is later than the previous
 * holder's.
 */
export async function paymentsNow(db: Db): Promise<Date> {
  const [{ now }] = await db.sql(read, [])
  return new Date(now)
}

const readClock = statement<{ now: string; offset: number }>(
  'SELECT payments_now() AS now, "offset" FROM payment_clock',
)

export interface TestClock {
  now: string
  offset_seconds: number
}

/** The payment clock and how far it is ahead of real time. */
export async function testClock(db: Db): Promise<TestClock> {
  const [{ now, offset }] = await db.sql(readClock, [])
  return { now, offset_seconds: Math.round(offset / 1000) }
}

// Rounds up, so that a task due at the target time is due once the clock has moved.
const moveOffset = statement(`
  UPDATE payment_clock SET "offset" =
    greatest("offset", ceil(extract(epoch FROM $1::timestamptz - clock_timestamp()) * 1000)::bigint)
  WHERE id = 1`)

/** Moves the clock forward to a time. Does nothing if the clock is past it. */
export async function moveClock(db: Db, to: Date): Promise<void> {
  await db.sql(moveOffset, [to])
}
