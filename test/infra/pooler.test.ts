// A server behind PgBouncer, and the checks of the database connections at the start.
import t from 'tap'
import pg from 'pg'
import { checkDatabase, DatabaseCheckError } from '../../infra/database/check.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { createClient } from '../support/http/client.ts'
import { createDatabaseProxy } from '../support/database/database-proxy.ts'
import { skipWithoutPgBouncer, startPgBouncer } from '../support/database/pgbouncer.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const skip = skipWithoutPgBouncer

/** The error of the check, or its warnings. */
async function check(url: string, directUrl = url, preparedStatements = true): Promise<string> {
  const warnings: string[] = []
  try {
    await checkDatabase({
      url,
      directUrl,
      preparedStatements,
      connections: 10,
      onWarning: (message) => warnings.push(message),
    })
    return warnings.join('\n')
  } catch (error) {
    if (error instanceof DatabaseCheckError) return error.message
    throw error
  }
}

t.test('a direct connection passes the check', async (t) => {
  const { url } = await createTestDatabase(t)
  t.equal(await check(url), '')
  const tcp = await createDatabaseProxy(t, url)
  t.equal(await check(tcp.url, url), '')
})

t.test('DATABASE_DIRECT_URL must lead to the same database', async (t) => {
  const [one, other] = [await createTestDatabase(t), await createTestDatabase(t)]
  t.match(await check(one.url, other.url), /both must lead to the same database/)
})

t.test('a clock that is ten minutes off', async (t) => {
  const { url } = await createTestDatabase(t)
  const now = Date.now
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => now() + 600_000
  t.match(
    await check(url),
    /The clock of this machine is (599|600|601) seconds ahead of that of the database/,
  )
  Date.now = () => now() - 600_000
  t.match(await check(url), /seconds behind that of the database/)
})

t.test('too many connections for PostgreSQL', async (t) => {
  const { url } = await createTestDatabase(t)
  const warnings: string[] = []
  const options = { url, directUrl: url, preparedStatements: true, connections: 100_000 }
  await checkDatabase({ ...options, onWarning: (message) => warnings.push(message) })
  t.match(warnings, [/opens up to 100000 connections to PostgreSQL, which accepts \d+: enough for 0/])
})

t.test('PgBouncer in session mode, with its default settings', { skip }, async (t) => {
  const { url } = await createTestDatabase(t)
  const pooled = await startPgBouncer(t, url, 'session')
  t.equal(await check(pooled), '')
  const server = await startServer(t, { databaseUrl: pooled })
  const { api } = await server.person()
  t.equal((await api.createProject({ body: { name: 'in a session' } })).name, 'in a session')
  await waitUntil(() => server.services.listener.listening, 'notifications')
})

t.test('PgBouncer in transaction mode', { skip }, async (t) => {
  const { url } = await createTestDatabase(t)
  const pooled = await startPgBouncer(t, url, 'transaction')

  t.test('the check names the settings that are missing', async (t) => {
    t.match(await check(pooled), /in transaction mode.*: set DATABASE_DIRECT_URL to PostgreSQL itself/)
    t.match(await check(pooled, url), /set DATABASE_PREPARED_STATEMENTS=false/)
    t.match(await check(pooled, pooled, false), /set DATABASE_DIRECT_URL/)
    t.match(await check(pooled, url, false), /no time-outs.*ALTER ROLE ".*" SET statement_timeout = 10000;/)
  })

  t.test('without a direct URL a server caches no keys and is degraded', async (t) => {
    const server = await startServer(t, {
      databaseUrl: pooled,
      env: { DATABASE_PREPARED_STATEMENTS: 'false' },
    })
    const { client } = await server.person()
    t.equal((await client.get('/user/profile')).status, 200)
    t.notOk(server.services.principals.listening)
    t.match(await client.get('/readyz'), {
      status: 200,
      body: { status: 'degraded', checks: { notifications: 'unavailable' } },
    })
  })

  t.test('the main flows with a direct URL, in a database with another time zone', async (t) => {
    await setTimeZone(url, 'Asia/Tokyo')
    const env = { DATABASE_DIRECT_URL: url, DATABASE_PREPARED_STATEMENTS: 'false' }
    const first = await startServer(t, { databaseUrl: pooled, env })
    const second = await startServer(t, { databaseUrl: pooled, env })
    await waitUntil(() => first.services.listener.listening && second.services.listener.listening)
    const person = await first.person()
    t.match(await person.client.get('/readyz'), { status: 200, body: { status: 'ok' } })
    const project = await person.api.createProject({ body: { name: 'shared' } })
    t.ok(Math.abs(Date.parse(project.created_at) - Date.now()) < 60_000, project.created_at)
    const expires = new Date(Date.now() + 3_600_000).toISOString()
    const key = await person.api.createApiKey({
      body: { name: 'k', scopes: ['user:read'], expires_at: expires },
    })
    t.equal(key.expires_at, expires)
    t.equal((await person.client.get(`/user/api-keys/${key.id}`)).body.expires_at, expires)
    const changes = await Promise.all(
      Array.from({ length: 40 }, (_, i) => person.client.post('/projects', { name: `project ${i}` })),
    )
    t.strictSame(new Set(changes.map(({ status }) => status)), new Set([201]))
    t.equal((await person.client.get('/projects?limit=1')).body.pagination.total, 41)

    let accepted = 0
    for (let i = 0; i < 20; i++) {
      const made = await person.client.post('/user/api-keys', { name: 'x', scopes: ['user:read'] })
      const other = createClient(second.url, made.body.key)
      await other.get('/user/profile')
      await person.client.delete(`/user/api-keys/${made.body.id}`)
      if ((await other.get('/user/profile')).status !== 401) accepted++
    }
    t.equal(accepted, 0, 'a revoked key is rejected by the other server')
  })
})

async function setTimeZone(url: string, zone: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET timezone = '${zone}'`)
  // The connections that the pooler keeps have the old time zone.
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  )
  await client.end()
}
