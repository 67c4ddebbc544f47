// Many rounds of what test/infra/failover.test.ts does once: fail-over with a synchronous standby, switch-over
// with an address that is stale, and both through PgBouncer.
import t, { type Test } from 'tap'
import { cuttingProxy } from '../support/cutting-proxy.ts'
import { urlOnPort } from '../support/database-proxy.ts'
import { connectionsTo, countRound, lockHolders, ReplicatedPostgres, type Round } from '../support/failover.ts'
import { skipWithoutPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const long = process.env.FAULTS === 'long'
/** The short form is test/infra/failover.test.ts. */
const skip = !long && 'the long form: npm run faults -- failover'



const answersReady = async ({ url }: TestServer, status: number): Promise<boolean> =>
  (await fetch(`${url}/readyz`)).status === status

function report(t: Test, name: string, rounds: Round[], limit = 3_000): void {
  const sum = (count: (round: Round) => number): number => rounds.reduce((all, round) => all + count(round), 0)
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
    'two leaders, ms': Math.round(Math.max(...rounds.map(({ twoLeaders }) => twoLeaders))),
    'connections left on the standby': sum(({ left }) => left),
  }
  console.log(`${name}: ${JSON.stringify(table)}`)
  t.ok(times.at(-1)! <= limit, `the first write is in time: ${times.at(-1)} ms after the promotion`)
  for (const round of rounds)
    t.match(round, { lost: 0, errors500: 0, withoutRetryAfter: 0, leaders: 1, left: 0 })
  t.ok(table['two leaders, ms'] <= 1_000, 'two leaders for at most a heartbeat')
}

async function startTwo(t: Test, databaseUrl: string, env: Record<string, string> = {}): Promise<TestServer[]> {
  return [await startServer(t, { databaseUrl, env }), await startServer(t, { databaseUrl, env })]
}

t.test('fail-over with a synchronous standby', { skip }, async (t) => {
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

t.test('fail-over from a primary that hangs', { skip }, async (t) => {
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

t.test('switch-over with a stale address', { skip }, async (t) => {
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

t.test('both, with a PgBouncer in front of each PostgreSQL', { skip: skip || skipWithoutPgBouncer }, async (t) => {
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
  for (let i = 0; i < 6; i++) {
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
