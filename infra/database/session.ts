// The settings of a database session. A statement after connecting sets them, because poolers such as
// PgBouncer and RDS Proxy refuse startup options.
import type pg from 'pg'

export interface SessionOptions {
  /** Milliseconds after which PostgreSQL cancels a statement. */
  statementTimeout: number
  /**
   * Whether a pooler in transaction mode may be in between. The time-outs would then reach the sessions of
   * others, so they must be settings of the role.
   */
  pooled: boolean
}

/** The time-outs of a session, in milliseconds. */
export function timeoutsOf(statementTimeout: number): Record<string, number> {
  return {
    statement_timeout: statementTimeout,
    lock_timeout: Math.min(5_000, statementTimeout),
    idle_in_transaction_session_timeout: 15_000,
  }
}

/** Prisma reads and writes timestamps without their offset, so every session uses UTC. */
export async function configureSession(
  client: pg.ClientBase,
  { statementTimeout, pooled }: SessionOptions,
): Promise<void> {
  const timeouts = pooled ? [] : Object.entries(timeoutsOf(statementTimeout))
  const statements = [`SET timezone = 'UTC'`, ...timeouts.map(([name, value]) => `SET ${name} = ${value}`)]
  await client.query(statements.join('; '))
}
