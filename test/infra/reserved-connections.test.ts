// Requests that use every connection of the pool stop neither health checks nor the work on jobs; the start
// says for how many processes the connections are enough.
import t from 'tap'
import { checkDatabase } from '../../infra/database/check.ts'
import { connectionsOf } from '../../services/services.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { execute } from '../support/database/own-postgres.ts'
import { startServerHere } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'

t.test('a pool without a free connection', async (t) => {
  const server = await startServer(t, { env: { DATABASE_POOL_SIZE: '2' } })
  const { database, deliveries, jobs } = server.services
  const { client } = await server.person()
  await client.get('/user/profile')
  const release = Promise.withResolvers<void>()
  const held = [1, 2].map(() => database.transaction(() => release.promise))
  while (database.pool.idleCount > 0 || database.pool.totalCount < 2) await new Promise(setImmediate)
  const waiting = client.get('/projects')
  for (let i = 0; i < 3; i++) {
    const began = performance.now()
    t.match(await client.get('/readyz'), { status: 200, body: { status: 'ok' } })
    t.same(await deliveries.fetch(10), [])
    await jobs.readBacklog()
    t.ok(performance.now() - began < 2_000)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
  }
  release.resolve()
  await Promise.all(held)
  t.equal((await waiting).status, 200)
})

t.test('no process opens more connections than it counts', async (t) => {
  const { url } = await createTestDatabase(t)
  const server = await startServer(t, { databaseUrl: url, env: { DATABASE_POOL_SIZE: '3' } })
  const people = await Promise.all(Array.from({ length: 5 }, () => server.person()))
  const reads = people.flatMap(({ client }) =>
    ['/projects', '/readyz', '/events', '/user/profile'].map((path) => client.get(path)),
  )
  await Promise.all(reads)
  const opened = await execute(url, 'SELECT FROM pg_stat_activity WHERE datname = current_database()')
  // One is that of this query.
  t.ok(opened.length - 1 <= connectionsOf(server.services.config), `${opened.length - 1} connections`)
})

t.test('the start prints the arithmetic, by the least of the limits', async (t) => {
  const { url } = await createTestDatabase(t)
  const said: string[] = []
  const check = async (connections: number): Promise<string> => {
    said.length = 0
    const note = (message: string): number => said.push(message)
    await checkDatabase({
      url,
      directUrl: url,
      preparedStatements: true,
      connections,
      onProgress: note,
      onWarning: note,
    })
    return said.join('\n')
  }
  t.match(
    await check(20),
    /^Each .* opens up to 20 connections .* accepts 297: enough for 14 \(\d+ are open now\)\.$/,
  )
  await execute(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} CONNECTION LIMIT 50`)
  t.match(await check(20), /accepts 50: enough for 2\. Lower DATABASE_POOL_SIZE/)
  const { progress } = await startServerHere(t, { DATABASE_URL: url })
  t.match(progress.join('\n'), /^Each server or worker opens up to 20 connections .* which accepts 50/m)
})
