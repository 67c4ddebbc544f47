// Fail-over of PostgreSQL: after a standby was promoted, writes come back, nothing acknowledged is lost, no
// request is answered 500, and one process leads. `npm run faults -- failover` runs many rounds.
import t, { type Test } from 'tap'
import { readConfig } from '../../infra/config/config.ts'
import { checkDatabase } from '../../infra/database/check.ts'
import { openConnection } from '../../infra/database/client.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { hostsOf } from '../../infra/database/hosts.ts'
import { prepareDatabase } from '../../infra/prepare-database.ts'
import { freePort } from '../../scripts/test/free-port.ts'
import { cuttingProxy } from '../support/http/cutting-proxy.ts'
import { urlOnPort } from '../support/database/database-proxy.ts'
import {
  connectionsTo,
  countRound,
  lockHolders,
  ReplicatedPostgres,
  type Round,
} from '../support/database/failover.ts'
import { spawnServer } from '../support/server/process.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

t.test('the hosts of a URL are read as by libpq', async (t) => {
  const hosts = (url: string): unknown => hostsOf(url)?.hosts.map(({ host, port }) => `${host} ${port}`)
  t.same(hosts('postgres://u:p@a:1,b/db'), ['a 1', 'b 5432'])
  t.same(hosts('postgres://u:p@/db?host=a,b&port=1,2'), ['a 1', 'b 2'])
  t.same(hosts('postgres://u:p@/db?host=a,b&port=6000'), ['a 6000', 'b 6000'])
  t.same(hosts('postgres://u@[::1]:5433,[fe80::2]/db'), ['::1 5433', 'fe80::2 5432'])
  t.same(hosts('postgresql://%2Frun%2Fone,two:3/db'), ['/run/one 5432', 'two 3'])
  t.same(hosts('postgres://a,b'), ['a 5432', 'b 5432'])
  t.same(hosts('postgres://u:p@a/db'), undefined, 'one host stays as it is')
  t.same(hosts('postgres://u:p@a/db?target_session_attrs=primary'), ['a 5432'])
  const { url, target } = hostsOf('postgres://u:p%40%2C@a,b/d%20b?target_session_attrs=read-write')!
  const { username, password, pathname } = new URL(url)
  t.same([username, password, pathname, target], ['u', 'p%40%2C', '/d%20b', 'read-write'])
  const refused = (url: string, message: RegExp): unknown => t.throws(() => hostsOf(url), message)
  refused('postgres://a,,b/db', /has an empty host/)
  refused('postgres://a:1,b:x/db', /has an invalid host/)
  refused('postgres://a:0,b/db', /has an invalid port/)
  refused('postgres:///db?host=a,b&port=1,2,3', /has 2 hosts and 3 ports/)
  refused('postgres://a,b/db?target_session_attrs=best', /has an unknown target_session_attrs/)
})

t.test('the settings take several hosts, and repeat no password', async (t) => {
  const read = (env: Record<string, string>) =>
    readConfig({ DATABASE_URL: 'postgres://u:secret@a,b/db', ...env })
  const attributeOf = (url: string | null): unknown => new URL(url!).searchParams.get('target_session_attrs')
  t.equal(attributeOf(read({}).databaseUrl), 'read-write')
  t.equal(attributeOf(read({ DATABASE_READ_URL: 'postgres://a,b/db' }).databaseReadUrl), 'standby')
  const refused = (DATABASE_URL: string, message: string): unknown =>
    t.throws(() => read({ DATABASE_URL }), { message })
  refused(
    'postgres://u:secret@a,b/db?target_session_attrs=standby',
    'DATABASE_URL takes target_session_attrs=read-write, primary, any, not standby.',
  )
  refused('postgres://u:secret@a,b:x/db', 'DATABASE_URL has an invalid host: write host:port or [IPv6]:port.')
})

const pair = await ReplicatedPostgres.start(t)
const hosts = pair.url

t.test('a connection goes to the host with the right role', async (t) => {
  const portOf = async (target: string): Promise<number> => {
    const url = hosts.replace('=read-write', `=${target}`)
    const client = await openConnection({ url, name: 'test' })
    const { rows } = await client.query<{ port: number }>("SELECT current_setting('port')::int AS port")
    await client.end()
    return rows[0].port
  }
  const [primary, standby] = [pair.primary, pair.standby].map(({ url }) => Number(new URL(url).port))
  for (const target of ['read-write', 'primary']) t.equal(await portOf(target), primary, target)
  for (const target of ['read-only', 'standby', 'prefer-standby'])
    t.equal(await portOf(target), standby, target)
  await portOf('any')
  // A host that is away costs no more than a fraction of a second.
  const away = hosts.replace('@', `@127.0.0.1:${await freePort()},`)
  const client = await openConnection({ url: away, name: 'test' })
  await client.end()
  const none = urlOnPort(pair.standby.url, Number(new URL(pair.standby.url).port))
  const error = await openConnection({ url: `${none}&target_session_attrs=primary`, name: 'test' }).catch(
    (error: Error) => error,
  )
  t.match(error, { code: '25006', message: /it is a standby/ })
})

t.test('starting against a standby is one sentence', async (t) => {
  const { url } = pair.standby
  const options = { url, directUrl: url, preparedStatements: true, connections: 10 }
  const sentence =
    'DATABASE_URL leads to no PostgreSQL that accepts writes (it is a standby, which is read-only): set it ' +
    'to the primary, or to all hosts; see docs/high-availability.md.'
  await t.rejects(checkDatabase(options), { message: sentence })
  await t.rejects(prepareDatabase(url), { message: sentence })
  const several = pair.url.replace('target_session_attrs=read-write', 'target_session_attrs=primary')
  await checkDatabase({ ...options, url: several, directUrl: several })
  // And nothing after it: no stack.
  await t.rejects(spawnServer(t, { DATABASE_URL: url }), {
    message: /: set it to the primary, .*\.md\."}\n$/,
  })
})

t.test('a pool and a session never stay on a standby', async (t) => {
  const database = openDatabase({ url: pair.standby.url })
  t.teardown(() => database.close())
  await t.rejects(database.ping(), { code: '25006' })
  await t.rejects(database.openSession(), { code: '25006' })
  const failed = await database.transaction((tx) => tx.prisma.user.count()).catch((error: unknown) => error)
  t.match(failed, { status: 503, code: 'UNAVAILABLE', headers: { 'retry-after': '2' } })
  t.same(await connectionsTo(pair.standby), [])
})

t.test('a write that is refused replaces all connections of the pool', async (t) => {
  const { services, person, url } = await startServer(t, { databaseUrl: pair.primary.url })
  const { key } = await person()
  const { pool } = services.database
  const post = (): Promise<Response> =>
    fetch(`${url}/v1/projects`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'x' }),
    })
  t.equal((await post()).status, 201)
  // As PgBouncer does when its PostgreSQL becomes a standby: the connection stays, and refuses writes.
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
  for (const client of clients) await client.query('SET default_transaction_read_only = on')
  for (const client of clients) client.release()
  const refused = await post()
  t.same([refused.status, refused.headers.get('retry-after')], [503, '2'])
  t.match(await refused.json(), { error: { code: 'UNAVAILABLE' } })
  await waitUntil(() => pool.idleCount === 0 || pool.totalCount < clients.length, 'the end of the others')
  await waitUntil(async () => (await post()).status === 201, 'a write')
  for (let i = 0; i < clients.length; i++) t.equal((await post()).status, 201)
})

function requireClean(t: Test, round: Round): void {
  const { firstWrite, statuses, twoLeaders } = round
  t.comment(
    `first write after ${Math.round(firstWrite)} ms; ${JSON.stringify(statuses)}; two leaders for ` +
      `${Math.round(twoLeaders)} ms`,
  )
  t.match(round, { lost: 0, errors500: 0, withoutRetryAfter: 0, leaders: 1, left: 0 })
}

t.test('fail-over: the primary is killed, and the standby is promoted', async (t) => {
  const env = { DATABASE_READ_URL: hosts.replace('=read-write', '=standby') }
  const servers = [
    await startServer(t, { databaseUrl: hosts }),
    await startServer(t, { databaseUrl: hosts, env }),
  ]
  const { id } = await servers[1].person()
  const replicaServes = (): boolean => servers[1].services.readReplica!.serves(id)
  await waitUntil(replicaServes, 'the replica')
  const change = async (): Promise<void> => {
    await pair.killPrimary()
    await pair.promote()
  }
  requireClean(t, await countRound(pair, servers, { change }))
  t.notOk(replicaServes(), 'the replica is the primary now')
  await pair.rejoin()
  await waitUntil(replicaServes, 'the other replica')
})

t.test('switch-over: the address still leads to the old primary, which is a standby', async (t) => {
  const proxy = await cuttingProxy(t, pair.primary.url, { next: () => null })
  const address = urlOnPort(pair.primary.url, Number(new URL(proxy.url).port))
  const servers = [
    await startServer(t, { databaseUrl: address }),
    await startServer(t, { databaseUrl: address }),
  ]
  const round = await countRound(pair, servers, {
    async change() {
      await pair.switchOver()
      // The address is stale: new connections reach the standby, which no request uses.
      for (const { url } of servers)
        await waitUntil(async () => (await fetch(`${url}/readyz`)).status === 503, 'no readiness')
      proxy.target = pair.primary.url
    },
    async after() {
      for (const { url } of servers)
        await waitUntil(async () => (await fetch(`${url}/readyz`)).status === 200, 'readiness')
    },
  })
  round.left = (await connectionsTo(pair.standby)).length
  requireClean(t, round)
  t.equal(await lockHolders(pair.standby), 0)
})
