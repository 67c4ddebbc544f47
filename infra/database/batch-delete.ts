// Statements that delete rows in batches, and the retention steps that use them.
import type { Db } from './database.ts'
import { statement, type Statement } from './statements.ts'

/** The number of rows that a statement deleted. */
interface Deleted {
  n: number
}

export interface DeleteOptions {
  /** The key column that `keysQuery` selects. Default `id`; `ctid` for tables without a key of one column. */
  key?: string
}

/**
 * A statement that deletes the rows of a table whose keys `keysQuery` selects. It returns their number.
 *
 * ARRAY(…) runs `keysQuery` once. With `IN (SELECT … LIMIT n)`, PostgreSQL may run it for every row while its
 * statistics say that the table is empty.
 */
export function deleteStatement(
  table: string,
  keysQuery: string,
  { key = 'id' }: DeleteOptions = {},
): Statement<Deleted> {
  return statement(`
    WITH deleted AS (DELETE FROM ${table} WHERE ${key} = ANY(ARRAY(${keysQuery})) RETURNING 1)
    SELECT count(*)::int AS n FROM deleted`)
}

/**
 * A retention step that deletes at most `limit` rows. `keysQuery` selects their keys and takes the limit as
 * `$1`.
 */
export function deleteBatchStep(
  table: string,
  keysQuery: string,
  limit: number,
  options?: DeleteOptions,
): (db: Db) => Promise<{ removed: number; more: boolean }> {
  const deleteRows = deleteStatement(table, keysQuery, options)
  return async (db) => {
    const [{ n }] = await db.sql(deleteRows, [limit])
    return { removed: n, more: n === limit }
  }
}
