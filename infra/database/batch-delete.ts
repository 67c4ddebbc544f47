// Statements that remove rows, so many at most, and the steps of housekeeping made of them.
import type { Db } from './database.ts'
import { statement, type Statement } from './statements.ts'

/** How many rows a statement removed. */
interface Removed {
  n: number
}

export interface RemovalOptions {
  /** The column of the table that is selected. `ctid`, the place of a row, for tables without one that tells their rows apart. */
  key?: string
}

/**
 * What removes the rows of a table whose keys `some` selects.
 *
 * They are selected into an array, once. Of `IN (SELECT … LIMIT n)` the planner, as long as it believes that a table is empty, makes a
 * loop that selects anew for each row of it; and it believes so until the statistics of one that fills up are taken again.
 */
export function removal(
  table: string,
  some: string,
  { key = 'id' }: RemovalOptions = {},
): Statement<Removed> {
  return statement(
    `WITH gone AS (DELETE FROM ${table} WHERE ${key} = ANY(ARRAY(${some})) RETURNING 1) SELECT count(*)::int AS n FROM gone`,
  )
}

/** A step of housekeeping that removes at most so many rows: those whose keys `some` selects up to the limit that it takes as `$1`. */
export function removing(
  table: string,
  some: string,
  limit: number,
  options?: RemovalOptions,
): (db: Db) => Promise<{ removed: number; more: boolean }> {
  const remove = removal(table, some, options)
  return async (db) => {
    const [{ n }] = await db.sql(remove, [limit])
    return { removed: n, more: n === limit }
  }
}
