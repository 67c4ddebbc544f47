// The connection of a backup or a restore to PostgreSQL: one session without time-outs, in formats that every
// version reads.
import type pg from 'pg'
import { openConnection } from '../../infra/database/client.ts'

const settings = {
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  timezone: 'UTC',
  datestyle: 'ISO',
  intervalstyle: 'postgres',
  extra_float_digits: '1',
  bytea_output: 'hex',
  search_path: 'public',
}

export async function withConnection<T>(
  url: string,
  name: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await openConnection({ url, name })
  try {
    const statements = Object.entries(settings).map(([key, value]) => `SET ${key} = '${value}'`)
    await client.query(statements.join('; '))
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}

/** Commits unless the work throws. @param mode such as `ISOLATION LEVEL REPEATABLE READ`. */
export async function inTransaction<T>(client: pg.Client, mode: string, work: () => Promise<T>): Promise<T> {
  await client.query(`BEGIN ${mode}`)
  try {
    const result = await work()
    await client.query('COMMIT')
    return result
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}
