// Creates a database per test: a copy of the migrated template from the test runner.
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'

export interface TestDatabase {
  url: string
  drop(): Promise<void>
}

/** SECRET_KEY of all test servers, because several may share a database. */
export const testSecretKey = 'the-secret-key-of-all-test-servers'

const TEMPLATE = 'platform_template'
const ATTEMPTS = 100

export async function createTestDatabase(t: Pick<Test, 'teardown'>): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  // Half of the CPU of the default strategy, which writes each page to the log.
  await administerWhenFree(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY FILE_COPY`)
  const drop = () => administerWhenFree(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  t.teardown(drop)
  const url = new URL(serverUrl())
  url.pathname = `/${name}`
  return { url: url.href, drop }
}

/** A database without tables. Its owner, the role of the tests, is no superuser. */
export async function createEmptyDatabase(t: Pick<Test, 'teardown'>): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await administerWhenFree(`CREATE DATABASE ${name} TEMPLATE template0`)
  t.teardown(() => administerWhenFree(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  const url = new URL(serverUrl())
  url.pathname = `/${name}`
  return url.href
}

/** Retries while the template is in use (55006) or autovacuum is working in the database (42501). */
export async function administerWhenFree(statement: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await administer(statement)
    } catch (error) {
      const busy = error instanceof pg.DatabaseError && (error.code === '55006' || error.code === '42501')
      if (!busy || attempt === ATTEMPTS) throw error
      await sleep(50)
    }
  }
}

/** On the coordinator and the workers of Citus, or on the one PostgreSQL. */
async function administer(statement: string): Promise<void> {
  const workers = (process.env['TEST_DATABASE_WORKERS'] ?? '').split(' ').filter((url) => url !== '')
  for (const url of [serverUrl(), ...workers]) await administerNode(url, statement)
}

async function administerNode(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

function serverUrl(): string {
  const url = process.env['TEST_DATABASE_URL']
  if (url === undefined) throw new Error('TEST_DATABASE_URL is not set: run the tests with npm test.')
  return url
}
