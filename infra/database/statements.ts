// SQL statements that are declared once and prepared once per connection.
import { hash } from 'node:crypto'
import type pg from 'pg'
import type { Config } from './batch.ts'
import { types } from './pool.ts'

/**
 * An SQL statement with numbered parameters ($1, $2, …). Without a name, it is planned for every call.
 */
export interface Statement<Row> {
  name?: string
  text: string
  /** The file of prisma/sql that it comes from, for tests. */
  label?: string
  /** The statement has no effect, and may share a round trip with others (shared-reads.ts). */
  reads?: boolean
  row?: Row
}

/**
 * Declares a prepared statement. In its rows, timestamps are RFC 3339 strings in UTC and bigints are numbers.
 */
export function statement<Row>(text: string): Statement<Row> {
  return { name: statementName(text), text }
}

/** The name of the prepared statement for a text: the same in every process. */
export function statementName(text: string): string {
  return hash('sha1', text, 'hex').slice(0, 24)
}

/** Runs the statements of prisma/sql. */
export interface SqlClient {
  sql<Row>(statement: Statement<Row>, values: unknown[]): Promise<Row[]>
}

export type OnRows = (label: string, rows: unknown[]) => void

/** @param toApiError translates an error of the statement. Default: not at all. */
export function sqlBy(
  run: (config: Config) => Promise<pg.QueryResult>,
  onRows: OnRows | undefined,
  toApiError: (error: unknown) => unknown = (error) => error,
): SqlClient['sql'] {
  return async ({ name, text, label, reads }, values) => {
    try {
      const { rows } = await run({ name, text, values, types, label, reads })
      if (label !== undefined) onRows?.(label, rows)
      return rows
    } catch (error) {
      // The stack of the error is that of the socket. This one leads to the statement.
      Error.captureStackTrace(error as Error)
      throw toApiError(error)
    }
  }
}
