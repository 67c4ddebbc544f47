// The leader that numbers events: one process at a time, another soon after its connection is lost, each
// event once and in order, and no event skipped for a reader of a stream.
import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Db } from '../../infra/database/database.ts'
import { Leadership } from '../../infra/database/leadership.ts'
import { addDeliveries } from '../../services/events/log.ts'
import { createWebhookEndpoints } from '../support/database/db-fixtures.ts'
import { startServer, type TestServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

/** The backend that holds the lock of the leader. */
const leaderPid = `
  SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND objid::bigint = hashtextextended('leader', 0) & 4294967295
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

async function endLeaderConnection({ services }: TestServer): Promise<void> {
  await services.database.pool.query(`SELECT pg_terminate_backend(pid) FROM (${leaderPid}) leader`)
}

const leads = ({ services }: TestServer): boolean => services.leadership.leading

/** Two servers on one database, the leader first. */
async function startTwo(t: Test): Promise<[TestServer, TestServer]> {
  const first = await startServer(t)
  await waitUntil(() => leads(first), 'the first server leads')
  const second = await startServer(t, { databaseUrl: first.databaseUrl })
  await waitUntil(() => [first, second].every(({ services }) => services.listener.listening))
  return [first, second]
}

/** The ids of the events that a stream of the server sends, in order. */
async function readStream(t: Test, { services }: TestServer, key: string): Promise<string[]> {
  const gone = new AbortController()
  const ids: string[] = []
  const principal = await services.principals.authenticate(`Bearer ${key}`)
  const stream = services.eventStreams.open(principal, { types: null }, 0)(gone.signal)
  const reading = (async () => {
    for await (const sent of stream) if ('event' in sent && sent.event === 'message') ids.push(sent.data.id)
  })()
  t.teardown(async () => {
    gone.abort()
    await reading
  })
  return ids
}

/** Creates projects through both servers until `stop` is called. @returns how many were created. */
function writeThrough(servers: TestServer[], key: string): { stop: () => Promise<number> } {
  let stopped = false
  const write = async ({ url }: TestServer): Promise<number> => {
    let written = 0
    while (!stopped) {
      const response = await fetch(`${url}/v1/projects`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: '{"name":"numbered"}',
      })
      await response.arrayBuffer()
      if (response.status === 201) written++
      await sleep(5)
    }
    return written
  }
  const running = servers.map(write)
  return {
    async stop() {
      stopped = true
      return (await Promise.all(running)).reduce((sum, n) => sum + n, 0)
    },
  }
}

t.test('another server numbers soon after the leader has lost its connection', async (t) => {
  const [first, second] = await startTwo(t)
  const streams = [await readStream(t, first, first.key), await readStream(t, second, first.key)]
  const writing = writeThrough([first, second], first.key)
  await waitUntil(() => streams[1].length > 20, 'events of the first leader')

  void first.services.leadership.close()
  await endLeaderConnection(first)
  const lostAt = performance.now()
  await waitUntil(() => leads(second), 'the second server leads')
  const taken = performance.now() - lostAt
  t.ok(taken < 3_000, `it took ${Math.round(taken)} ms`)
  t.notOk(leads(first))
  const before = streams[1].length
  await waitUntil(() => streams[1].length > before + 20, 'events of the second leader')

  const written = await writing.stop()
  await waitUntil(() => streams.every((ids) => ids.length >= written), 'the streams')
  const { rows } = await first.services.database.pool.query<{ id: string; sequence: number }>(
    'SELECT id, sequence::int FROM events ORDER BY sequence',
  )
  t.equal(rows.length, written)
  t.same(
    rows.map(({ sequence }) => sequence),
    rows.map((_row, i) => i + 1),
    'no number is missing or used twice',
  )
  for (const ids of streams)
    t.same(
      ids,
      rows.map(({ id }) => id),
      'a stream has each event once, in order',
    )
})

t.test('a connection of the leader that breaks once does not stop the numbering', async (t) => {
  const [first, second] = await startTwo(t)
  await endLeaderConnection(first)
  await waitUntil(() => leads(first) !== leads(second) && !(leads(first) && leads(second)))
  const ids = await readStream(t, second, first.key)
  for (const { url } of [first, second])
    await fetch(`${url}/v1/projects`, {
      method: 'POST',
      headers: { authorization: `Bearer ${first.key}`, 'content-type': 'application/json' },
      body: '{"name":"after"}',
    }).then((response) => response.arrayBuffer())
  await waitUntil(() => ids.length === 2)
})

t.test('only the leader numbers the events of all servers', async (t) => {
  const [first, second] = await startTwo(t)
  const ids = await readStream(t, second, first.key)
  await waitUntil(() => !leads(second))
  await sleep(1_100)
  for (const server of [first, second]) server.statements.length = 0
  const writing = writeThrough([second], first.key)
  await waitUntil(() => ids.length >= 50)
  const written = await writing.stop()
  await waitUntil(() => ids.length === written)
  const numberings = (server: TestServer): number =>
    server.statements.filter((text) => text.includes('number_events')).length
  t.equal(numberings(second), 0)
  t.ok(numberings(first) <= 2 * written, `${numberings(first)} for ${written} events`)
})

t.test('a leader that hangs loses its connection to another', async (t) => {
  const { services, databaseUrl } = await startServer(t)
  const hanging = new pg.Client({ connectionString: databaseUrl })
  hanging.on('error', () => {})
  await hanging.connect()
  t.teardown(() => hanging.end().catch(() => {}))
  await hanging.query("SELECT pg_advisory_lock(hashtextextended('hanging', 0))")
  const leaderships = [0, 1].map(
    () => new Leadership({ database: services.database, name: 'hanging', heartbeat: 100 }),
  )
  t.teardown(() => Promise.all(leaderships.map((leadership) => leadership.close())))
  for (const leadership of leaderships) leadership.start()
  const led = (): number => leaderships.filter(({ leading }) => leading).length
  await sleep(300)
  t.equal(led(), 0, 'there is no leader at first')
  await waitUntil(() => led() > 0, 'a leader')
  await sleep(500)
  t.equal(led(), 1, 'one of them leads')
  const [leader] = leaderships.filter(({ leading }) => leading)
  await leader.close()
  await waitUntil(() => led() === 1, 'the other leads')
  t.notOk(leader.leading)
})

t.test(
  'events with many recipients are delivered in steps, each once, also after a failed step',
  async (t) => {
    const server = await startServer(t)
    const { database } = server.services
    const { pool, prisma } = database
    const ids = await createWebhookEndpoints(server, server.admin.id, 2_600)
    // The server waits for the lock until the test has added the deliveries.
    const lock = await database.openSession()
    await lock.query('BEGIN; LOCK TABLE webhook_deliveries IN SHARE MODE')
    const projects = Array.from({ length: 3 }, (_, i) => ({ name: `Project ${i}` }))
    for (const project of projects)
      t.equal((await server.admin.client.post('/projects', project)).status, 201)
    await waitUntil(async () => {
      const { rows } = await pool.query('SELECT delivered_sequence < last_sequence AS lacks FROM event_log')
      return rows[0].lacks
    }, 'numbered events')
    await lock.query('COMMIT')
    await lock.end()
    const pairs = ids.length * projects.length
    await waitUntil(async () => (await prisma.webhookDelivery.count()) === pairs, 'the deliveries')
    const events = await prisma.webhookDelivery.groupBy({ by: ['eventId'], _count: true })
    t.same(
      events.map(({ _count: count }) => count),
      projects.map(() => ids.length),
    )

    // The same again, by steps of the test, of which the first two fail.
    for (const most of [0, 2]) {
      let failures = most
      await pool.query(`TRUNCATE webhook_deliveries; DELETE FROM jobs;
      UPDATE event_log SET delivered_sequence = 0, partial_sequence = 0, partial_endpoint_id = ''`)
      const failing = {
        transaction: async (work: any) => {
          if (failures-- > 0) throw new Error('the step took too long')
          return await database.transaction(work)
        },
      }
      const steps: number[] = []
      for await (const count of addDeliveries(failing as Db)) steps.push(count)
      // The server may add some of them.
      t.ok(Math.max(...steps) <= 5_000, `${steps}`)
      t.equal(await prisma.webhookDelivery.count(), pairs)
      t.equal((await pool.query('SELECT FROM jobs')).rowCount, pairs)
    }
  },
)
