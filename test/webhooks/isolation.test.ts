// Isolation of endpoints: an endpoint that is unresponsive, slow or failing does not delay the deliveries to
// other endpoints, for any number of pending deliveries. An owner with many slow endpoints does not delay the
// deliveries of other owners.
import t, { type Test } from 'tap'
import { deliveryQueue } from '../../services/webhooks/worker.ts'
import { statement } from '../../infra/database/statements.ts'
import { waitUntil } from '../support/server/wait.ts'
import {
  jobMisfits,
  makeEndpoint,
  startWorkingServer,
  type Endpoint,
  type WorkingServer,
} from '../support/server/working-server.ts'

const concurrency = 20
const quiet = { event_types: ['profile.updated'] }

/** A time-out longer than any test takes. */
const patient = { timeout: 600_000 }

/** A server that aborts running requests immediately when it stops. */
const start = (t: Test, options: { timeout?: number } = {}): Promise<WorkingServer> =>
  startWorkingServer(t, { env: { WEBHOOK_CONCURRENCY: `${concurrency}`, SHUTDOWN_TIMEOUT: '0' }, ...options })

/** Emits test events for an endpoint in one transaction. */
async function send(
  { admin, services: { database, events } }: WorkingServer,
  endpoint: Endpoint,
  count: number,
  owner = admin,
): Promise<void> {
  const { body: object } = await owner.client.get(`/webhooks/endpoints/${endpoint.id}`)
  await database.transaction(async (tx) => {
    for (let i = 0; i < count; i++)
      await events.emit(tx, 'webhook_endpoint.tested', object, { userId: owner.id, endpointId: endpoint.id })
  })
}

/** Deliveries to a quick endpoint: twice as many as slots. */
const quick = 40

/** Sends deliveries to a quick endpoint. Returns the milliseconds until all have arrived. */
async function pass(server: WorkingServer, good: Endpoint, owner = server.admin): Promise<number> {
  const began = Date.now()
  await send(server, good, quick, owner)
  await waitUntil(() => good.receiver.received.length >= quick, 'the quick deliveries')
  return Date.now() - began
}

async function finish(t: Test, server: WorkingServer): Promise<void> {
  await server.stopWork()
  t.same(await jobMisfits(server), [])
  t.same(server.errors, [])
}

t.test('an endpoint that never responds does not delay another endpoint', async (t) => {
  const server = await start(t, patient)
  const stuck = await makeEndpoint(t, server.admin, { ...quiet, answer: 'never' })
  const good = await makeEndpoint(t, server.admin, quiet)
  await send(server, stuck, 60)
  await waitUntil(() => stuck.receiver.waiting === 10, 'ten unanswered requests')
  t.comment(`${quick} deliveries beside an unresponsive endpoint: ${await pass(server, good)} ms`)
  t.equal(stuck.receiver.waiting, 10, 'ten requests are still unanswered')
  t.equal(stuck.receiver.received.length, 10, 'and there are no more')
  t.equal(good.receiver.received.length, quick)
  await finish(t, server)
})

t.test('many endpoints that never respond do not delay another endpoint', async (t) => {
  const server = await start(t, patient)
  const stuck = await Promise.all(
    Array.from({ length: 6 }, () => makeEndpoint(t, server.admin, { ...quiet, answer: 'never' })),
  )
  let answer = (): void => {}
  const slow = await makeEndpoint(t, server.admin, {
    ...quiet,
    answer: {
      when: new Promise<void>((resolve) => {
        answer = resolve
      }),
    },
  })
  const good = await makeEndpoint(t, server.admin, quiet)
  for (const one of [...stuck, slow]) await send(server, one, 30)
  await waitUntil(() => stuck[0].receiver.waiting + stuck[1].receiver.waiting >= 20, 'all slots to be taken')
  t.comment(`${quick} deliveries beside 70 unanswered requests: ${await pass(server, good)} ms`)
  t.ok(
    stuck.every(({ receiver }) => receiver.waiting === receiver.received.length),
    'no request has timed out yet',
  )
  t.ok(stuck.every(({ receiver }) => receiver.maxWaiting <= 10))
  answer()
  await waitUntil(
    () => slow.receiver.received.length === 30,
    'the deliveries to the slow endpoint, which responds now',
  )
  await finish(t, server)
})

for (const senders of [1, 2]) {
  /** Deliveries to each endpoint, in all many more than slots. */
  const each = 8
  t.test(
    `an owner whose endpoints all succeed slowly does not delay other owners: ${senders} workers`,
    async (t) => {
      const server = await start(t, patient)
      for (let more = 1; more < senders; more++) await server.work(patient)
      const hostile = await server.person()
      const victim = await server.person()
      let answer = (): void => {}
      const when = new Promise<void>((resolve) => {
        answer = resolve
      })
      const slow = await Promise.all(
        Array.from({ length: 15 * senders }, () => makeEndpoint(t, hostile, { ...quiet, answer: { when } })),
      )
      const good = await makeEndpoint(t, victim, quiet)
      const waiting = (): number => slow.reduce((sum, { receiver }) => sum + receiver.waiting, 0)
      for (const one of slow) await send(server, one, each, hostile)
      await waitUntil(() => waiting() >= concurrency, 'all slots to be taken')
      t.comment(
        `${quick} deliveries beside an owner of ${slow.length} slow endpoints: ` +
          `${await pass(server, good, victim)} ms; ${waiting()} slow requests running`,
      )
      t.ok(
        slow.every(({ receiver }) => receiver.waiting === receiver.received.length),
        'no slow request was answered or has timed out yet',
      )
      t.equal(good.receiver.received.length, quick)
      const before = waiting()
      t.ok(
        before < senders * 2 * concurrency + slow.length,
        `${before} is less than half of the slow slots plus one for each endpoint`,
      )
      answer()
      await waitUntil(
        () => slow.every(({ receiver }) => receiver.received.length === each),
        'the deliveries to the slow endpoints, which respond now',
      )
      const tried = statement(
        `SELECT status::text, jsonb_array_length(attempts) AS attempts, count(*)::int AS n
         FROM webhook_deliveries GROUP BY 1, 2`,
      )
      const all = each * slow.length + quick
      await waitUntil(
        async () => (await server.services.database.sql(tried, [])).length === 1,
        'all outcomes to be recorded',
      )
      t.same(
        await server.services.database.sql(tried, []),
        [{ status: 'succeeded', attempts: 1, n: all }],
        'deliveries that were put off were tried once',
      )
      await finish(t, server)
    },
  )
}

t.test('deliveries to failing endpoints are tried one at a time, beside the others', async (t) => {
  const server = await start(t)
  const {
    services: { database },
  } = server
  const failing = await Promise.all(
    Array.from({ length: concurrency + 5 }, () =>
      makeEndpoint(t, server.admin, { ...quiet, answer: 'never' }),
    ),
  )
  const good = await makeEndpoint(t, server.admin, quiet)
  const arrived = (): number => failing.reduce((sum, { receiver }) => sum + receiver.received.length, 0)
  await database.sql(
    statement("UPDATE webhook_endpoints SET failing_since = now() - interval '1 minute' WHERE id = ANY($1)"),
    [failing.map(({ id }) => id)],
  )
  for (const one of failing) await send(server, one, 5)
  await waitUntil(() => arrived() >= concurrency, 'the slots for failing endpoints to be taken')
  t.comment(`${quick} deliveries beside ${concurrency} failing endpoints: ${await pass(server, good)} ms`)
  await waitUntil(() => arrived() === failing.length, 'the others, when the first requests have become slow')
  t.ok(failing.every(({ receiver }) => receiver.maxWaiting === 1 && receiver.received.length === 1))
  await finish(t, server)
})

t.test('a failing endpoint receives its pending deliveries when it recovers', async (t) => {
  const server = await start(t)
  const {
    services: { database },
  } = server
  const endpoint = await makeEndpoint(t, server.admin, { ...quiet, answer: 'hangup' })
  await database.sql(
    statement("UPDATE webhook_endpoints SET failing_since = now() - interval '1 minute' WHERE id = $1"),
    [endpoint.id],
  )
  await send(server, endpoint, 40)
  await waitUntil(() => endpoint.receiver.received.length > 0, 'the first attempt')
  endpoint.receiver.answer = {}
  const left = statement<{ n: number }>(
    `SELECT count(*)::int AS n FROM webhook_deliveries
     WHERE endpoint_id = $1 AND status = 'pending' AND tries = 0`,
  )
  await waitUntil(
    async () => (await database.sql(left, [endpoint.id]))[0].n === 0,
    'the deliveries without an attempt',
  )
  t.same(
    await database.sql(statement('SELECT failing_since FROM webhook_endpoints WHERE id = $1'), [endpoint.id]),
    [{ failing_since: null }],
  )
  await finish(t, server)
})

t.test('ten thousand pending deliveries in front of the others cost little', async (t) => {
  const server = await start(t)
  const {
    services: { database, deliveries },
  } = server
  const stuck = await makeEndpoint(t, server.admin, { ...quiet, answer: 'never' })
  const good = await makeEndpoint(t, server.admin, quiet)
  await send(server, stuck, 11)
  await waitUntil(() => stuck.receiver.waiting === 10, 'ten unanswered requests')
  await database.sql(
    statement(`
    WITH d AS (
      INSERT INTO webhook_deliveries (id, endpoint_id, event_id, next_attempt_at)
      SELECT 'whd_waiting' || i, $1,
        (SELECT event_id FROM webhook_deliveries WHERE endpoint_id = $1 LIMIT 1), now()
      FROM generate_series(1, 10000) i RETURNING id
    )
    INSERT INTO jobs (queue, data, group_id)
    SELECT $2, jsonb_build_object('delivery_id', d.id), $1 FROM d`),
    [stuck.id, deliveryQueue.name],
  )
  t.comment(`${quick} deliveries behind 10,000: ${await pass(server, good)} ms`)
  const began = performance.now()
  for (let i = 0; i < 10; i++)
    t.same(await deliveries.fetch(concurrency), [], 'no more jobs of a group at its limit')
  const each = (performance.now() - began) / 10
  t.comment(`a fetch that skips 10,000 jobs: ${each.toFixed(1)} ms`)
  t.ok(each < 500)
  t.equal(stuck.receiver.received.length, 10)
  await finish(t, server)
})
