// Many rounds of what test/infra/failover.test.ts does once: fail-over with a synchronous standby, and
// switch-over with an address that is stale. Then a primary that hangs, PgBouncer, and Patroni. In `npm test`
// only two rounds with PgBouncer, which test/infra/failover.test.ts does not use.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { cuttingProxy } from '../support/http/cutting-proxy.ts'
import { urlOnPort } from '../support/database/database-proxy.ts'
import {
  connectionsTo,
  countLost,
  countRound,
  lockHolders,
  ReplicatedPostgres,
  writeTo,
  type Round,
} from '../support/database/failover.ts'
import { execute } from '../support/database/own-postgres.ts'
import { PatroniCluster, skipWithoutPatroni, type Machine } from '../support/database/patroni.ts'
import { skipWithoutPgBouncer, startPgBouncer } from '../support/database/pgbouncer.ts'
import { bootstrapKey, spawnServer } from '../support/server/process.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'
import { isLongForm } from '../support/long-form.ts'

/** A test of the long form only. */
function longTest(name: string, options: { skip?: string | false }, run: (t: Test) => Promise<void>): void {
  if (isLongForm) void t.test(name, options, run)
}

const answersReady = async ({ url }: TestServer, status: number): Promise<boolean> =>
  (await fetch(`${url}/readyz`)).status === status

function report(t: Test, name: string, rounds: Round[], limit = 3_000): void {
  const sum = (count: (round: Round) => number): number =>
    rounds.reduce((all, round) => all + count(round), 0)
  const times = rounds.map(({ firstWrite }) => Math.round(firstWrite)).sort((a, b) => a - b)
  const table = {
    rounds: rounds.length,
    'first write, ms: min, median, max': [times[0], times[times.length >> 1], times.at(-1)],
    acknowledged: sum(({ acknowledged }) => acknowledged),
    lost: sum(({ lost }) => lost),
    503: sum(({ statuses }) => statuses[503] ?? 0),
    '503 without Retry-After': sum(({ withoutRetryAfter }) => withoutRetryAfter),
    500: sum(({ errors500 }) => errors500),
    statuses: [...new Set(rounds.flatMap(({ statuses }) => Object.keys(statuses)))],
    leaders: [...new Set(rounds.map(({ leaders }) => leaders))],
    'one leader, ms after: most': Math.round(Math.max(...rounds.map(({ leaderAfter }) => leaderAfter))),
    'two leaders, ms': Math.round(Math.max(...rounds.map(({ twoLeaders }) => twoLeaders))),
    'connections left on the standby': sum(({ left }) => left),
  }
  for (const round of rounds)
    t.match(round, { lost: 0, errors500: 0, withoutRetryAfter: 0, leaders: 1, left: 0 })
  if (!isLongForm) return
  console.log(`${name}: ${JSON.stringify(table)}`)
  t.ok(times.at(-1)! <= limit, `the first write is in time: ${times.at(-1)} ms after the promotion`)
  t.ok(table['one leader, ms after: most'] <= 10_000, 'one leader within 10 s')
  t.ok(table['two leaders, ms'] <= 1_000, 'two leaders for at most a heartbeat')
}

async function startTwo(
  t: Test,
  databaseUrl: string,
  env: Record<string, string> = {},
): Promise<TestServer[]> {
  return [await startServer(t, { databaseUrl, env }), await startServer(t, { databaseUrl, env })]
}

longTest('fail-over with a synchronous standby', {}, async (t) => {
  const pair = await ReplicatedPostgres.start(t)
  const servers = await startTwo(t, pair.url)
  const rounds: Round[] = []
  for (let i = 0; i < 20; i++) {
    const change = async (): Promise<void> => {
      await pair.killPrimary()
      await pair.promote()
    }
    rounds.push(await countRound(pair, servers, { change }))
    await pair.rejoin()
  }
  report(t, 'fail-over', rounds)
})

longTest('fail-over from a primary that hangs', {}, async (t) => {
  const pair = await ReplicatedPostgres.start(t)
  const servers = await startTwo(t, pair.url)
  const rounds: Round[] = []
  for (let i = 0; i < 6; i++) {
    const change = async (): Promise<void> => {
      pair.freezePrimary()
      await pair.promote()
    }
    rounds.push(await countRound(pair, servers, { change }))
    await pair.killStandby()
    await pair.rejoin()
  }
  // The promotion follows at once. Servers notice a primary that hangs after three heartbeats.
  report(t, 'fail-over, the primary hangs', rounds, 8_000)
})

longTest('switch-over with a stale address', {}, async (t) => {
  const pair = await ReplicatedPostgres.start(t)
  const proxy = await cuttingProxy(t, pair.primary.url, { next: () => null })
  const servers = await startTwo(t, urlOnPort(pair.primary.url, Number(new URL(proxy.url).port)))
  const rounds: Round[] = []
  for (let i = 0; i < 10; i++) {
    const round = await countRound(pair, servers, {
      async change() {
        await pair.switchOver()
        for (const server of servers) await waitUntil(() => answersReady(server, 503), 'no readiness')
        proxy.target = pair.primary.url
      },
      async after() {
        for (const server of servers) await waitUntil(() => answersReady(server, 200), 'readiness')
      },
    })
    const left = (await connectionsTo(pair.standby)).length
    rounds.push({ ...round, left, leaders: round.leaders + (await lockHolders(pair.standby)) })
  }
  report(t, 'switch-over, stale address', rounds)
})

t.test('both, with a PgBouncer in front of each PostgreSQL', { skip: skipWithoutPgBouncer }, async (t) => {
  const pair = await ReplicatedPostgres.start(t)
  // As docs/high-availability.md says.
  const settings = { query_wait_timeout: 2, server_login_retry: 1 }
  const poolers = await Promise.all(
    [pair.primary, pair.standby].map(({ url }) => startPgBouncer(t, url, 'transaction', settings)),
  )
  const hosts = poolers.map((url) => new URL(url).host).join(',')
  const servers = await startTwo(t, `postgres://app@${hosts}/app?target_session_attrs=read-write`, {
    DATABASE_DIRECT_URL: pair.url,
    DATABASE_PREPARED_STATEMENTS: 'false',
  })
  const rounds: Round[] = []
  for (let i = 0; i < (isLongForm ? 6 : 2); i++) {
    const isKilled = i % 2 === 0
    const change = async (): Promise<void> => {
      if (isKilled) await pair.killPrimary()
      await (isKilled ? pair.promote() : pair.switchOver())
    }
    rounds.push(await countRound(pair, servers, { change }))
    if (isKilled) await pair.rejoin()
  }
  report(t, 'with PgBouncer', rounds)
})

longTest('Patroni, as docs/high-availability.md says', { skip: skipWithoutPatroni }, async (t) => {
  const cluster = new PatroniCluster(t)
  const [one, two] = cluster.machines
  const list = 'patronictl -c /etc/patroni/config.yml list'
  const whenListed = async (row: RegExp): Promise<true> =>
    await waitUntil(async () => row.test(await cluster.run(list).catch(() => '')), String(row), 120_000)
  const health =
    'etcdctl --endpoints=http://10.0.0.11:2379,http://10.0.0.12:2379,http://10.0.0.13:2379 endpoint health'
  for (const machine of cluster.machines) cluster.startEtcd(machine)
  await waitUntil(
    async () => (await cluster.run(health).catch(() => '')).split('is healthy').length === 4,
    'etcd',
  )
  cluster.startPatroni(one)
  await whenListed(/one .*Leader .*running/)
  cluster.startPatroni(two)
  await whenListed(/two .*Sync Standby/)
  await cluster.run(
    'psql --set=owner_password=... --set=server_password=... --file=deploy/postgresql/roles.sql \\\n' +
      '  "host=10.0.0.11,10.0.0.12 user=postgres dbname=postgres target_session_attrs=read-write"',
    { env: { PGPASSWORD: 'SUPERUSER_PASSWORD' } },
  )
  await cluster.run('DATABASE_URL=postgres://platform_owner:...@10.0.0.11,10.0.0.12/platform npm run migrate')
  cluster.startHaproxy()
  const urlAt = (hosts: string): string =>
    cluster.on(one, `postgres://platform_server:secret@${hosts}/platform`)
  const STORAGE_DIR = mkdtempSync(join(tmpdir(), 'storage-'))
  const servers = [
    await spawnServer(t, { DATABASE_URL: urlAt('10.0.0.11,10.0.0.12'), MIGRATE: 'false', STORAGE_DIR }),
    await spawnServer(t, { DATABASE_URL: urlAt('10.0.0.20'), MIGRATE: 'false', STORAGE_DIR }),
  ]
  const isPrimary = async (machine: Machine): Promise<boolean> =>
    await execute(cluster.superuserUrl(machine), 'SELECT WHERE NOT pg_is_in_recovery()').then(
      (rows) => rows.length === 1,
      () => false,
    )
  const change = async (from: Machine, to: Machine, how: 'switch-over' | 'fail-over'): Promise<object> => {
    const load = writeTo(servers.map(({ url }) => ({ url, key: bootstrapKey })))
    try {
      await waitUntil(() => load.acknowledged.length > 20, 'writes')
      const began = performance.now()
      let promoted = 0
      const watching = waitUntil(() => isPrimary(to), 'the promotion', 120_000).then(() => {
        promoted = performance.now()
      })
      if (how === 'fail-over') await cluster.kill(from)
      else
        await cluster.run(
          `patronictl -c /etc/patroni/config.yml switchover --leader ${from.name} --candidate ${to.name} ` +
            '--force platform',
          // The page has it in one direction.
          { isWritten: from === one },
        )
      await watching
      await waitUntil(() => load.lastWrite > promoted, 'a write')
      const firstWrite = load.lastWrite - promoted
      const before = load.acknowledged.length
      await waitUntil(() => load.acknowledged.length > before + 20, 'writes to go on')
      for (const { url } of servers)
        await waitUntil(async () => (await fetch(`${url}/readyz`)).status === 200, 'readiness')
      await load.stop()
      if (how === 'fail-over') cluster.startPatroni(from)
      await whenListed(new RegExp(`${from.name} .*Sync Standby`))
      const primary = { superuserUrl: cluster.superuserUrl(to) }
      const standby = { superuserUrl: cluster.superuserUrl(from) }
      const result = {
        lost: await countLost(primary, load.acknowledged),
        errors500: load.statuses[500] ?? 0,
        withoutRetryAfter: load.withoutRetryAfter,
        leaders: (await lockHolders(primary)) + (await lockHolders(standby)),
        left: (await connectionsTo(standby, 'platform_server')).length,
      }
      const times = {
        'promotion after ms': Math.round(promoted - began),
        'first write after the promotion, ms': Math.round(firstWrite),
        acknowledged: load.acknowledged.length,
        statuses: load.statuses,
      }
      console.log(`Patroni, ${how}: ${JSON.stringify({ ...times, ...result })}`)
      return result
    } finally {
      await load.stop()
    }
  }
  const clean = { lost: 0, errors500: 0, withoutRetryAfter: 0, leaders: 1, left: 0 }
  t.same(await change(one, two, 'switch-over'), clean)
  t.same(await change(two, one, 'switch-over'), clean)
  t.same(await change(one, two, 'fail-over'), clean)
  t.same(await change(two, one, 'fail-over'), clean)
})
