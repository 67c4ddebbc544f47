// How a webhook worker ends: a stop returns unfinished jobs to the queue without blaming the endpoint, and a
// worker whose jobs have expired can no longer change them.
import t from 'tap'
import { statement } from '../../infra/database/statements.ts'
import { unavailable } from '../../infra/errors.ts'
import { spawnWorker } from '../support/server/process.ts'
import { waitUntil } from '../support/server/wait.ts'
import {
  deliveryNow,
  jobMisfits,
  makeEndpoint,
  sendTest,
  startWorkingServer,
  whenDelivery,
} from '../support/server/working-server.ts'

const server = await startWorkingServer(t, { sends: false, env: { SHUTDOWN_TIMEOUT: '1' } })
const {
  admin,
  databaseUrl,
  services: { database },
} = server
const quiet = { event_types: ['profile.updated'] }

const jobs = statement<{ delivery_id: string; running: boolean; fetches: number }>(`
  SELECT data->>'delivery_id' AS delivery_id, fetches > 0 AND due_at > now() AS running, fetches FROM jobs
  WHERE queue = 'webhook-deliveries'`)
const failing = statement<{ failing_since: string | null; enabled: boolean }>(
  'SELECT failing_since, enabled FROM webhook_endpoints WHERE id = $1',
)
const jobsNow = () => database.sql(jobs, [])

/** A promise with its resolve function. */
function promised(): { promise: Promise<void>; fulfil: () => void } {
  let fulfil = (): void => {}
  const promise = new Promise<void>((resolve) => {
    fulfil = resolve
  })
  return { promise, fulfil }
}

t.test('a stop waits for running requests for a short time', async (t) => {
  const { promise, fulfil } = promised()
  const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: { when: promise } })
  const sender = await server.work()
  const { id } = await sendTest(admin, endpoint)
  await waitUntil(() => endpoint.receiver.waiting === 1, 'the delivery')
  const stopped = sender.stop()
  fulfil()
  await stopped
  t.match(await deliveryNow(admin, id), { status: 'succeeded', attempts: { length: 1 } })
  t.same(await jobsNow(), [])
})

t.test(
  'an unfinished delivery is returned to the queue without an attempt, and sent by the next worker',
  async (t) => {
    const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: 'never' })
    const sender = await server.work()
    const ids: string[] = []
    for (let i = 0; i < 15; i++) ids.push((await sendTest(admin, endpoint)).id)
    await waitUntil(() => endpoint.receiver.waiting === 10, 'ten deliveries')
    const began = Date.now()
    await sender.stop()
    t.ok(Date.now() - began < 4_000, `stopped after ${Date.now() - began} ms`)
    for (const id of ids)
      t.match(await deliveryNow(admin, id), { status: 'pending', attempts: { length: 0 }, request: null })
    t.same(
      (await jobsNow()).map(({ fetches }) => fetches),
      ids.map(() => 0),
      'no job is left active',
    )
    t.same(await jobMisfits(server), [])
    t.same(
      await database.sql(failing, [endpoint.id]),
      [{ failing_since: null, enabled: true }],
      'the endpoint is not failing',
    )

    endpoint.receiver.answer = {}
    const next = await server.work()
    for (const id of ids)
      t.match(await whenDelivery(admin, id, ({ status }) => status === 'succeeded'), {
        attempts: { length: 1 },
      })
    t.equal(endpoint.receiver.received.length, 25, 'ten were sent twice')
    t.equal(
      new Set(endpoint.receiver.received.map(({ headers }) => headers['webhook-id'])).size,
      15,
      'and their ids identify them',
    )
    await next.stop()
  },
)

t.test('a stop during many deliveries loses none and sends none twice', async (t) => {
  const endpoint = await makeEndpoint(t, admin, quiet)
  const { receiver } = endpoint
  let sender = await server.work()
  const count = 60
  const writing = (async () => {
    for (let i = 0; i < count; i++) await sendTest(admin, endpoint)
  })()
  for (const part of [10, 25, 40]) {
    await waitUntil(() => receiver.received.length >= part, `${part} deliveries`)
    await sender.stop()
    t.notOk((await jobsNow()).some(({ running }) => running))
    sender = await server.work()
  }
  await writing
  await waitUntil(async () => (await jobsNow()).length === 0, 'all jobs to be done')
  t.equal(receiver.received.length, count)
  t.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, count)
  await sender.stop()
})

t.test('the outcome of a worker whose job has expired is ignored', async (t) => {
  const { promise, fulfil } = promised()
  const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: { status: 500, when: promise } })
  const [first, second] = [await server.work(), await server.work()]
  const { id } = await sendTest(admin, endpoint)
  await waitUntil(() => endpoint.receiver.waiting === 1, 'the delivery')
  // Simulates that the job has expired and another worker has fetched it.
  await database.sql(statement("UPDATE jobs SET fetches = fetches + 1 WHERE data->>'delivery_id' = $1"), [id])
  fulfil()
  await Promise.all([first.stop(), second.stop()])
  t.match(
    await deliveryNow(admin, id),
    { status: 'pending', attempts: { length: 0 } },
    'no attempt was recorded',
  )
  t.same(
    await jobsNow(),
    [{ delivery_id: id, running: true, fetches: 2 }],
    'the job belongs to the other worker, and there is only one',
  )
  t.same(await database.sql(failing, [endpoint.id]), [{ failing_since: null, enabled: true }])

  await database.sql(statement("UPDATE jobs SET due_at = now() WHERE data->>'delivery_id' = $1"), [id])
  endpoint.receiver.answer = {}
  const next = await server.work()
  t.match(
    await whenDelivery(admin, id, ({ status }) => status !== 'pending'),
    { status: 'succeeded', attempts: { length: 1 } },
    'the delivery is recorded once',
  )
  t.same(await jobsNow(), [])
  await next.stop()
})

t.test('an outcome that cannot be recorded does not fail the others', async (t) => {
  const { promise, fulfil } = promised()
  const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: { when: promise } })
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push((await sendTest(admin, endpoint)).id)
  await database.pool.query(`CREATE FUNCTION refuse () RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON webhook_deliveries FOR EACH ROW
      WHEN (NEW.id = '${ids[2]}') EXECUTE FUNCTION refuse()`)
  const sender = await server.work()
  await waitUntil(() => endpoint.receiver.waiting === 5, 'all five')
  fulfil()
  for (const id of ids.filter((id) => id !== ids[2]))
    await whenDelivery(admin, id, ({ status }) => status === 'succeeded')
  await sender.stop()
  t.match(await deliveryNow(admin, ids[2]), { status: 'pending' })
  t.match(await jobsNow(), [{ delivery_id: ids[2], running: true }], 'its job stays until it expires')
  t.ok(
    server.errors.length > 0 &&
      server.errors.splice(0).every(({ message }) => message.includes('not this one')),
    'the error is reported',
  )
  await database.pool.query('DROP FUNCTION refuse CASCADE; UPDATE jobs SET due_at = now()')
  const next = await server.work()
  await whenDelivery(admin, ids[2], ({ status }) => status === 'succeeded')
  await next.stop()
  t.equal(endpoint.receiver.received.length, 6)
})

t.test('a short database outage causes no second delivery', async (t) => {
  const { promise, fulfil } = promised()
  const endpoint = await makeEndpoint(t, admin, { ...quiet, answer: { when: promise } })
  const sender = await server.work()
  const { id } = await sendTest(admin, endpoint)
  await waitUntil(() => endpoint.receiver.waiting === 1, 'the delivery')
  const { sql } = database
  let failures = 0
  database.sql = async (statement, values) => {
    if (statement.label !== 'webhooks/record-successes') return await sql(statement, values)
    if (++failures > 3) database.sql = sql
    throw unavailable()
  }
  fulfil()
  await whenDelivery(admin, id, ({ status }) => status === 'succeeded')
  await sender.stop()
  t.equal(failures, 4)
  t.equal(server.errors.splice(0).length, 4)
  t.equal(endpoint.receiver.received.length, 1)
})

t.test('the jobs of a crashed worker are sent by another', async (t) => {
  const endpoint = await makeEndpoint(t, admin, quiet)
  const { id } = await sendTest(admin, endpoint)
  const [job] = await server.services.deliveries.fetch(10)
  t.equal(job.data.delivery_id, id)
  await database.sql(statement('UPDATE jobs SET due_at = now()'), [])
  const began = Date.now()
  const sender = await server.work()
  await whenDelivery(admin, id, ({ status }) => status === 'succeeded')
  t.comment(`an expired job was sent after ${Date.now() - began} ms`)
  await database.transaction(async (tx) =>
    t.same(
      [...(await server.services.deliveries.complete(tx, [job]))],
      [],
      'and the crashed worker no longer owns it',
    ),
  )
  await sender.stop()
})

t.test(
  'a worker process sends immediately, and returns running jobs to the queue when it ends',
  async (t) => {
    const worker = await spawnWorker(t, {
      DATABASE_URL: databaseUrl,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      SHUTDOWN_TIMEOUT: '1',
      LOG_LEVEL: 'info',
    })
    const endpoint = await makeEndpoint(t, admin, quiet)
    const { received } = endpoint.receiver
    for (let i = 1; i <= 3; i++) {
      // The system was idle for a while.
      await new Promise((resolve) => setTimeout(resolve, 300))
      const began = performance.now()
      await sendTest(admin, endpoint)
      await waitUntil(() => received.length === i, 'the delivery')
      const took = performance.now() - began
      t.comment(`the first delivery of an idle system came after ${Math.round(took)} ms`)
      t.ok(took < 5_000)
    }
    endpoint.receiver.answer = 'never'
    const { id } = await sendTest(admin, endpoint)
    await waitUntil(() => endpoint.receiver.waiting === 1, 'the slow request')
    const began = Date.now()
    t.same(await worker.end('SIGTERM'), { code: 0, signal: null })
    t.comment(`the worker exited after ${Date.now() - began} ms`)
    t.ok(Date.now() - began < 3_000, 'within SHUTDOWN_TIMEOUT and some tolerance')
    t.match(await deliveryNow(admin, id), { status: 'pending', attempts: { length: 0 } })
    t.same(
      (await jobsNow()).map(({ fetches }) => fetches),
      [0],
    )
    t.notMatch(worker.output(), /failed|whsec_/, 'the log contains no errors')

    endpoint.receiver.answer = {}
    const next = await server.work()
    await whenDelivery(admin, id, ({ status }) => status === 'succeeded')
    await next.stop()
  },
)

t.test('at the end every pending delivery has one job, and no other delivery has a job', async (t) => {
  t.same(await jobMisfits(server), [])
  t.same(server.errors, [])
})
