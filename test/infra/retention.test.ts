// Tidying in steps: however much there is to remove no transaction is too large for it, whatever fails keeps nothing else
// from being removed, and a stop waits for a step and not for the round.
import t, { type Test } from 'tap'
import { openDatabase } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { runRetention } from '../support/retention.ts'
import { coreRetentionTasks } from '../../services/retention-tasks.ts'
import { startRetention, type RetentionTask } from '../../infra/jobs/retention.ts'
import { createWebhookEndpoints, createEvent } from '../support/db-fixtures.ts'
import { startServer } from '../support/server.ts'
import { waitUntil } from '../support/wait.ts'

const server = await startServer(t)
const { database } = server.services
const { prisma } = database

/** So many numbered events, days old, in a log with nothing else, with a delivery to each of the endpoints. */
async function insertTold(
  count: number,
  {
    days,
    projectId = null,
    userId = server.admin.id,
    endpoints,
  }: { days: number; projectId?: string | null; userId?: string; endpoints: number },
): Promise<void> {
  const endpointIds = await createWebhookEndpoints(server, server.admin.id, endpoints, { enabled: false })
  await prisma.event.deleteMany()
  await database.sql(
    statement(`
    WITH e AS (
      INSERT INTO events (id, type, project_id, user_id, scope, role, data, created_at)
      SELECT gen_random_uuid()::text, 'profile.updated', $1::text, $2, 'user:read', CASE WHEN $1::text IS NOT NULL THEN 'viewer'::"MemberRole" END, '{}', now() - make_interval(days => $3)
      FROM generate_series(1, $4::int) RETURNING id
    )
    INSERT INTO webhook_deliveries (id, endpoint_id, event_id, status)
    SELECT gen_random_uuid()::text, w.id, e.id, 'succeeded' FROM e, unnest($5::text[]) w (id)`),
    [projectId, userId, days, count, endpointIds],
  )
  await numberEvents()
}

async function numberEvents(): Promise<void> {
  await database.sql(statement('SELECT number_events(100000)'), [])
}

/** @returns what tells how many events and deliveries the largest transaction removed since. */
async function watchTransactions(t: Test): Promise<() => Promise<number>> {
  await database.pool.query(`CREATE TABLE removals (transaction xid8, n bigint);
    CREATE FUNCTION note_removal () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO removals SELECT pg_current_xact_id(), count(*) FROM removed; RETURN NULL;
    END $$;
    CREATE TRIGGER note_removal AFTER DELETE ON webhook_deliveries REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_removal();
    CREATE TRIGGER note_removal AFTER DELETE ON events REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION note_removal()`)
  t.teardown(() => database.pool.query('DROP FUNCTION note_removal CASCADE; DROP TABLE removals'))
  const largest = statement<{ n: number }>(
    'SELECT coalesce(max(n), 0)::int AS n FROM (SELECT sum(n) AS n FROM removals GROUP BY transaction) t',
  )
  return async () => (await database.sql(largest, []))[0].n
}

/** A kind with so much to do, and what it does in a step. */
function kindOf(
  name: string,
  steps: number,
  work: () => void | Promise<void> = () => {},
): RetentionTask & { taken: number } {
  const kind = {
    name,
    taken: 0,
    async step() {
      await work()
      return { removed: 1, more: ++kind.taken < steps }
    },
  }
  return kind
}

t.test('events that many were told of are removed in transactions that are never large', async (t) => {
  await insertTold(200, { days: 31, endpoints: 150 })
  await createEvent(server, server.admin.id)
  const largest = await watchTransactions(t)
  const began = Date.now()
  t.match(await runRetention(database), { events: 200 })
  t.comment(`200 events with 30,000 deliveries: ${Date.now() - began} ms`)
  t.ok((await largest()) <= 2_500, `${await largest()} rows at most in one transaction`)
  t.equal(await prisma.webhookDelivery.count(), 0)
  t.equal(await prisma.event.count(), 1, 'the young one is there')
  const [{ removedThrough }] = await prisma.eventLog.findMany()
  t.match(await prisma.event.findMany(), [{ sequence: removedThrough + 1n }], 'and the log begins with it')
  t.match(await runRetention(database), { projects: 0, answers: 0, events: 0, deliveries: 0 })
})

t.test('an event of which more were told than one transaction removes goes in several', async (t) => {
  // What the planner believes of the tables is from when they were empty.
  await database.pool.query('ANALYZE')
  await insertTold(2, { days: 31, endpoints: 4_100 })
  t.match(await runRetention(database), { events: 2 })
  t.equal(await prisma.webhookDelivery.count(), 0)
})

t.test('a project that cannot be removed keeps none of the others', async (t) => {
  const { client } = server.admin
  const ids: string[] = []
  for (const name of ['stuck', 'next', 'last']) {
    const { id } = (await client.post('/projects', { name })).body
    await client.delete(`/projects/${id}`)
    await prisma.project.update({
      where: { id },
      data: { deletedAt: new Date(Date.now() - (60 - ids.length) * 86_400_000) },
    })
    ids.push(id)
  }
  await database.pool
    .query(`CREATE FUNCTION keep () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stuck'; END $$;
    CREATE TRIGGER keep BEFORE DELETE ON projects FOR EACH ROW WHEN (OLD.id = '${ids[0]}') EXECUTE FUNCTION keep()`)
  const errors: Error[] = []
  const tasks = coreRetentionTasks()
  for (const removed of [2, 0]) {
    t.match(await runRetention(database, { tasks, onError: (error) => errors.push(error) }), {
      projects: removed,
    })
    t.same(
      (await prisma.project.findMany({ where: { id: { in: ids } } })).map(({ id }) => id),
      [ids[0]],
    )
  }
  t.same(
    errors.map(({ cause }) => /stuck/.test(String(cause))),
    [true, true],
    'and is told of each time',
  )
  await database.pool.query('DROP FUNCTION keep CASCADE')
  t.match(await runRetention(database, { tasks }), { projects: 1 })
})

t.test('a project goes with all its events, and the next one after it', async (t) => {
  const { client } = server.admin
  const ids: string[] = []
  for (const name of ['large', 'small', 'young']) {
    const { id } = (await client.post('/projects', { name })).body
    await client.delete(`/projects/${id}`)
    ids.push(id)
  }
  await prisma.project.updateMany({
    where: { id: { in: ids.slice(0, 2) } },
    data: { deletedAt: new Date(Date.now() - 31 * 86_400_000) },
  })
  await insertTold(1_100, { days: 1, projectId: ids[0], endpoints: 7 })
  await createEvent(server, server.admin.id)
  const before = await prisma.event.count()
  t.match(await runRetention(database), { projects: 2, events: 0 })
  t.same(
    (await prisma.project.findMany()).map(({ id }) => id),
    [ids[2]],
  )
  t.equal(await prisma.event.count(), before - 1_100, "its events are gone, and no other's")
  t.equal(await prisma.webhookDelivery.count(), 0)
})

t.test(
  'what a user alone has read goes with the user, however much it is, and what was written at the last moment',
  async (t) => {
    const person = await server.person()
    const stays = await server.person()
    await insertTold(1_100, { days: 1, userId: person.id, endpoints: 7 })
    for (const { client } of [person, stays])
      t.equal((await client.put('/user/profile', { bio: 'About me' })).status, 200)
    t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
    await numberEvents()
    const largest = await watchTransactions(t)
    t.match(await runRetention(database), { 'events of deleted users': 1_101 })
    t.ok((await largest()) <= 2_500, 'step by step')
    t.equal(await prisma.event.count({ where: { userId: person.id } }), 0)
    t.equal(await prisma.event.count({ where: { userId: stays.id } }), 1, "and no other's")
    t.match(
      await prisma.event.findFirst({ where: { type: 'user.deleted' } }),
      { data: { object: { id: person.id } } },
      'nor that the user was deleted',
    )
    t.match(await runRetention(database), { 'events of deleted users': 0 })
  },
)

t.test('a kind that fails is reported and keeps no other from being removed', async (t) => {
  const broken: RetentionTask = {
    name: 'files',
    step: async () => {
      throw new Error('no such bucket')
    },
  }
  const [first, last] = [kindOf('first', 3), kindOf('last', 2)]
  const errors: Error[] = []
  t.same(
    await runRetention(database, { tasks: [first, broken, last], onError: (error) => errors.push(error) }),
    {
      first: 3,
      files: 0,
      last: 2,
    },
  )
  t.match(errors, [{ message: /files/, cause: { message: 'no such bucket' } }], 'once a round, and by name')
  await t.rejects(
    runRetention(database, { tasks: [broken] }),
    { message: /files/ },
    'and is thrown where nobody listens',
  )
  await insertTold(1, { days: 31, endpoints: 1 })
  const told: Error[] = []
  t.match(
    await runRetention(database, {
      tasks: [broken, ...coreRetentionTasks()],
      onError: (error) => told.push(error),
    }),
    { events: 1 },
    'the turn was given back',
  )
})

t.test('a statement that fails leaves its kind as it was, and the others go on', async (t) => {
  await insertTold(1, { days: 31, endpoints: 1 })
  await prisma.idempotencyRecord.create({
    data: {
      ownerId: 'x',
      keyDigest: Buffer.from('x'),
      bodyHash: Buffer.from('x'),
      status: 200,
      answer: Buffer.from('x'),
      createdAt: new Date(0),
    },
  })
  await database.pool
    .query(`CREATE FUNCTION refuse () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not these'; END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION refuse()`)
  const errors: Error[] = []
  t.match(await runRetention(database, { onError: (error) => errors.push(error) }), { events: 0, answers: 1 })
  t.match(errors, [{ message: /events/ }])
  t.equal(await prisma.webhookDelivery.count(), 1, 'what belongs to an event stays with it')
  await database.pool.query('DROP FUNCTION refuse CASCADE')
  t.match(await runRetention(database), { events: 1 })
})

t.test('tasks take turns, so that one with much to do keeps none waiting', async (t) => {
  const order: string[] = []
  const long = kindOf('long', 5, () => {
    order.push('long')
  })
  await runRetention(database, {
    tasks: [
      long,
      kindOf('short', 2, () => {
        order.push('short')
      }),
    ],
  })
  t.same(order, ['long', 'short', 'long', 'short', 'long', 'long', 'long'])
})

t.test('of two processes one does the work', async (t) => {
  const other = openDatabase({ url: server.databaseUrl })
  t.teardown(() => other.close())
  const idle = kindOf('idle', 1)
  const busy = kindOf('busy', 3, async () => {
    t.same(await runRetention(other, { tasks: [idle] }), { idle: 0 })
  })
  t.same(await runRetention(database, { tasks: [busy] }), { busy: 3 })
  t.equal(idle.taken, 0)
  t.same(await runRetention(other, { tasks: [idle] }), { idle: 1 }, 'until the other is through')
})

t.test('rounds of different names do not wait for each other', async (t) => {
  const short = kindOf('short', 1)
  const long = kindOf('long', 1, async () => {
    t.same(await runRetention(database, { tasks: [short], round: 'short' }), { short: 1 })
  })
  t.same(await runRetention(database, { tasks: [long], round: 'long' }), { long: 1 })
})

t.test('a stop waits for the step under way and lets the rest be', async (t) => {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let begun = false
  const endless = kindOf('endless', Infinity, () => {
    begun = true
    return ended
  })
  const housekeeping = startRetention(database, { tasks: [endless], delay: 0 })
  await waitUntil(() => begun, 'a step')
  const stopped = housekeeping.stop()
  end()
  await stopped
  t.equal(endless.taken, 1, 'it was not cut off, and nothing more begun')
  t.match(
    await runRetention(database, { tasks: [kindOf('next', 1)] }),
    { next: 1 },
    'the turn was given back',
  )
})

t.test('rounds follow each other until the stop', async (t) => {
  const kind = kindOf('often', 1)
  const errors: Error[] = []
  const housekeeping = startRetention(database, {
    tasks: [
      kind,
      {
        name: 'broken',
        step: async () => {
          throw new Error('broken')
        },
      },
    ],
    delay: 0,
    interval: 1,
    onError: (error) => errors.push(error),
  })
  await waitUntil(() => kind.taken >= 3 && errors.length >= 3, 'three rounds')
  await housekeeping.stop()
  const { taken } = kind
  await runRetention(database)
  t.equal(kind.taken, taken)
})
