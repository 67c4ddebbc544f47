// The clocks of this machine and of the database. Ids, expiry and leases use both.
import type { SqlClient } from './database.ts'
import { statement } from './statements.ts'

/** Milliseconds by which the clocks may differ. */
export const maxClockDifference = 60_000

const readTime = statement<{ now: number }>(
  'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now',
)

/** Throws when the clock of this machine, or that of the database, is wrong: it may have jumped. */
export async function requireClock(db: SqlClient): Promise<void> {
  const sent = Date.now()
  const [{ now }] = await db.sql(readTime, [])
  const problem = clockProblem((sent + Date.now()) / 2 - now)
  if (problem !== null) throw new Error(problem)
}

/** @param difference milliseconds by which this machine is ahead. Null if it is small. */
export function clockProblem(difference: number): string | null {
  if (Math.abs(difference) <= maxClockDifference) return null
  const seconds = Math.round(Math.abs(difference) / 1000)
  return (
    `The clock of this machine is ${seconds} seconds ${difference > 0 ? 'ahead of' : 'behind'} that of the ` +
    'database: correct the wrong one, for example with NTP.'
  )
}
