// A session of PostgreSQL for a test, which ends with it.
import pg from 'pg'
import type { Test } from 'tap'

export async function openSession(t: Pick<Test, 'teardown'>, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  return client
}
