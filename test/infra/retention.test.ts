// Data retention in steps: transactions stay small, a failing task does not stop the others, and a stop waits
// for the current step only.
import t, { type Test } from 'tap'
import { openDatabase } from '../../infra/database/database.ts'
import { statement } from '../../infra/database/statements.ts'
import { runRetention } from '../support/database/retention.ts'
import { coreRetentionTasks } from '../../services/deletion/retention-tasks.ts'
import { startRetention, type RetentionTask } from '../../infra/jobs/retention.ts'
import { createWebhookEndpoints, createEvent } from '../support/database/db-fixtures.ts'
import { startServer } from '../support/server/server.ts'
import { waitUntil } from '../support/server/wait.ts'

const server = await startServer(t)
const { database } = server.services
const { prisma } = database

/** Replaces the event log by `count` numbered events of yesterday, with a delivery to each endpoint. */
async function insertDelivered(
  count: number,
  {
    projectId = null,
    userId = server.admin.id,
    endpoints,
  }: { projectId?: string | null; userId?: string; endpoints: number },
): Promise<void> {
  const endpointIds = await createWebhookEndpoints(server, server.admin.id, endpoints, { enabled: false })
  await prisma.event.deleteMany()
  await prisma.webhookDelivery.deleteMany()
  await database.sql(
    statement(`
    WITH e AS (
      INSERT INTO events (id, type, project_id, user_id, scope, role, data, created_at)
      SELECT left(id_at('evt', now() - interval '1 day'), 14) || left(md5(random()::text), 16),
        'profile.updated', $1::text, $2, 'user:read',
        CASE WHEN $1::text IS NOT NULL THEN 'viewer'::"MemberRole" END, '{}', now() - interval '1 day'
      FROM generate_series(1, $3::int) RETURNING id
    )
    INSERT INTO webhook_deliveries (id, endpoint_id, event_id, status)
    SELECT left(id_at('whd', now() - interval '1 day'), 14) || left(md5(random()::text), 16), w.id, e.id,
      'succeeded'
    FROM e, unnest($4::text[]) w (id)`),
    [projectId, userId, count, endpointIds],
  )
  await numberEvents()
}

/** Replaces the event log by the event of a deleted user, with a delivery. */
async function insertOfDeletedUser(): Promise<void> {
  const person = await server.person()
  await insertDelivered(1, { userId: person.id, endpoints: 1 })
  await server.admin.client.delete(`/users/${person.id}`)
}

async function numberEvents(): Promise<void> {
  await database.sql(statement('SELECT number_events(100000)'), [])
}

/** @returns a function that counts the rows that the largest transaction deleted since. */
async function watchTransactions(t: Test): Promise<() => Promise<number>> {
  await database.pool.query(`CREATE TABLE removals (transaction xid8, n bigint);
    CREATE FUNCTION note_removal () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO removals SELECT pg_current_xact_id(), count(*) FROM removed; RETURN NULL;
    END $$;
    CREATE TRIGGER note_removal AFTER DELETE ON webhook_deliveries REFERENCING OLD TABLE AS removed
      FOR EACH STATEMENT EXECUTE FUNCTION note_removal();
    CREATE TRIGGER note_removal AFTER DELETE ON events REFERENCING OLD TABLE AS removed
      FOR EACH STATEMENT EXECUTE FUNCTION note_removal()`)
  t.teardown(() => database.pool.query('DROP FUNCTION note_removal CASCADE; DROP TABLE removals'))
  const largest = statement<{ n: number }>(
    'SELECT coalesce(max(n), 0)::int AS n FROM (SELECT sum(n) AS n FROM removals GROUP BY transaction) t',
  )
  return async () => (await database.sql(largest, []))[0].n
}

/** A task that needs `steps` steps, with the work of each step. */
function taskOf(
  name: string,
  steps: number,
  work: () => void | Promise<void> = () => {},
): RetentionTask & { taken: number } {
  const task = {
    name,
    taken: 0,
    async step() {
      await work()
      return { removed: 1, more: ++task.taken < steps }
    },
  }
  return task
}

t.test('an event with more deliveries than a batch is deleted in several transactions', async (t) => {
  // The planner's statistics date from when the tables were empty.
  await database.pool.query('ANALYZE')
  const person = await server.person()
  await insertDelivered(2, { userId: person.id, endpoints: 4_100 })
  t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
  const largest = await watchTransactions(t)
  t.match(await runRetention(database), { 'events of deleted users': 2 })
  t.ok((await largest()) <= 2_500, `${await largest()} rows at most in one transaction`)
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
    CREATE TRIGGER keep BEFORE DELETE ON projects FOR EACH ROW
      WHEN (OLD.id = '${ids[0]}') EXECUTE FUNCTION keep()`)
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
    'it is reported in each round',
  )
  await database.pool.query('DROP FUNCTION keep CASCADE')
  t.match(await runRetention(database, { tasks }), { projects: 1 })
})

t.test('an expired project is deleted with all its events, then the next project', async (t) => {
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
  await insertDelivered(1_100, { projectId: ids[0], endpoints: 7 })
  await createEvent(server, server.admin.id)
  const before = await prisma.event.count()
  t.match(await runRetention(database), { projects: 2 })
  t.same(
    (await prisma.project.findMany()).map(({ id }) => id),
    [ids[2]],
  )
  t.equal(await prisma.event.count(), before - 1_100, 'only its events are deleted')
  t.equal(await prisma.webhookDelivery.count(), 0)
})

t.test(
  'the private events of a deleted user are deleted, however many, including the latest ones',
  async (t) => {
    const person = await server.person()
    const stays = await server.person()
    await insertDelivered(1_100, { userId: person.id, endpoints: 7 })
    for (const { client } of [person, stays])
      t.equal((await client.put('/user/profile', { bio: 'About me' })).status, 200)
    t.equal((await server.admin.client.delete(`/users/${person.id}`)).status, 204)
    await numberEvents()
    const largest = await watchTransactions(t)
    t.match(await runRetention(database), { 'events of deleted users': 1_101 })
    t.ok((await largest()) <= 2_500, 'in small transactions')
    t.equal(await prisma.event.count({ where: { userId: person.id } }), 0)
    t.equal(await prisma.event.count({ where: { userId: stays.id } }), 1, "only the deleted user's")
    t.match(
      await prisma.event.findFirst({ where: { type: 'user.deleted' } }),
      { data: { object: { id: person.id } } },
      'the event `user.deleted` remains',
    )
    t.match(await runRetention(database), { 'events of deleted users': 0 })
  },
)

t.test('a failing task is reported and does not stop the others', async (t) => {
  const broken: RetentionTask = {
    name: 'files',
    step: async () => {
      throw new Error('no such bucket')
    },
  }
  const [first, last] = [taskOf('first', 3), taskOf('last', 2)]
  const errors: Error[] = []
  t.same(
    await runRetention(database, { tasks: [first, broken, last], onError: (error) => errors.push(error) }),
    {
      first: 3,
      files: 0,
      last: 2,
    },
  )
  t.match(errors, [{ message: /files/, cause: { message: 'no such bucket' } }], 'once per round, by name')
  await t.rejects(
    runRetention(database, { tasks: [broken] }),
    { message: /files/ },
    'without `onError` it is thrown',
  )
  await insertOfDeletedUser()
  const reported: Error[] = []
  t.match(
    await runRetention(database, {
      tasks: [broken, ...coreRetentionTasks()],
      onError: (error) => reported.push(error),
    }),
    { 'events of deleted users': 1 },
    'the lock was released',
  )
})

t.test('a failing statement leaves its rows unchanged, and the other tasks continue', async (t) => {
  await insertOfDeletedUser()
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
  await database.pool.query(`CREATE FUNCTION refuse () RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'not these'; END $$;
    CREATE TRIGGER refuse BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION refuse()`)
  const errors: Error[] = []
  t.match(await runRetention(database, { onError: (error) => errors.push(error) }), {
    'events of deleted users': 0,
    answers: 1,
  })
  t.match(errors, [{ message: /events/ }])
  t.equal(await prisma.webhookDelivery.count(), 1, 'the delivery of a remaining event remains')
  await database.pool.query('DROP FUNCTION refuse CASCADE')
  t.match(await runRetention(database), { 'events of deleted users': 1 })
})

t.test('tasks take turns, so that a long task does not delay the others', async (t) => {
  const order: string[] = []
  const long = taskOf('long', 5, () => {
    order.push('long')
  })
  await runRetention(database, {
    tasks: [
      long,
      taskOf('short', 2, () => {
        order.push('short')
      }),
    ],
  })
  t.same(order, ['long', 'short', 'long', 'short', 'long', 'long', 'long'])
})

t.test('one of two processes runs a round', async (t) => {
  const other = openDatabase({ url: server.databaseUrl })
  t.teardown(() => other.close())
  const idle = taskOf('idle', 1)
  const busy = taskOf('busy', 3, async () => {
    t.same(await runRetention(other, { tasks: [idle] }), { idle: 0 })
  })
  t.same(await runRetention(database, { tasks: [busy] }), { busy: 3 })
  t.equal(idle.taken, 0)
  t.same(await runRetention(other, { tasks: [idle] }), { idle: 1 }, 'after the other round ended')
})

t.test('rounds of different names do not wait for each other', async (t) => {
  const short = taskOf('short', 1)
  const long = taskOf('long', 1, async () => {
    t.same(await runRetention(database, { tasks: [short], round: 'short' }), { short: 1 })
  })
  t.same(await runRetention(database, { tasks: [long], round: 'long' }), { long: 1 })
})

t.test('a stop waits for the current step and starts no other', async (t) => {
  let end = (): void => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let started = false
  const endless = taskOf('endless', Infinity, () => {
    started = true
    return ended
  })
  const retention = startRetention(database, { tasks: [endless], delay: 0 })
  await waitUntil(() => started, 'a step')
  const stopped = retention.stop()
  end()
  await stopped
  t.equal(endless.taken, 1, 'the step finished and no other started')
  t.match(await runRetention(database, { tasks: [taskOf('next', 1)] }), { next: 1 }, 'the lock was released')
})

t.test('rounds repeat until the stop', async (t) => {
  const often = taskOf('often', 1)
  const errors: Error[] = []
  const retention = startRetention(database, {
    tasks: [
      often,
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
  await waitUntil(() => often.taken >= 3 && errors.length >= 3, 'three rounds')
  await retention.stop()
  const { taken } = often
  await runRetention(database)
  t.equal(often.taken, taken)
})
