// The time of payments: what is due, and when something was paid, goes by it. The sandbox's can be moved forward, and never back.
import type { Db } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'

const read = statement<{ now: string }>('SELECT payments_now() AS now')

/** Now, for payments: later than what was done by whoever held a lock that is held here. */
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

export async function testClock(db: Db): Promise<TestClock> {
  const [{ now, offset }] = await db.sql(readClock, [])
  return { now, offset_seconds: Math.round(offset / 1000) }
}

// Rounded up: what is due at that time has to be due then.
const move = statement(`
  UPDATE payment_clock SET "offset" = greatest("offset", ceil(extract(epoch FROM $1::timestamptz - clock_timestamp()) * 1000)::bigint) WHERE id = 1`)

/** Moves the clock on to a time, unless it is past it already. */
export async function moveClock(db: Db, to: Date): Promise<void> {
  await db.sql(move, [to])
}
