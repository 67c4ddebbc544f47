// The partitions of events and deliveries: one for each month.
import t, { type Test } from 'tap'
import { newIdAt, timeOf } from '../../infra/ids.ts'
import { requireMonths } from '../../services/events/retention.ts'
import { createDelivery, createEvent } from '../support/database/db-fixtures.ts'
import { makeOldMonths, moveToMonth } from '../support/database/months.ts'
import { runRetention } from '../support/database/retention.ts'
import { startServer, type TestServer } from '../support/server/server.ts'

async function start(t: Test) {
  const server = await startServer(t)
  const { database } = server.services
  const query = async (text: string, values: unknown[] = []): Promise<any[]> =>
    (await database.pool.query(text, values)).rows
  return { server, database, query }
}

/** The months from `from` to `to`, as names of partitions end. */
function months(from: number, to: number): string[] {
  const now = new Date()
  return Array.from({ length: to - from + 1 }, (_, i) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + from + i)).toISOString().slice(0, 7),
  ).map((month) => month.replace('-', '_'))
}

const namesOf = (table: string) =>
  `SELECT coalesce(substring(name FROM '\\d{4}_\\d\\d$'), name) AS month FROM month_partitions()
   WHERE parent = '${table}' AND name !~ '_before_' ORDER BY name`

/** Inserts an event with this id. Its sequence is the last of the log. */
async function insertEvent({ services, admin }: TestServer, id: string): Promise<void> {
  await services.database.prisma.event.create({
    data: {
      id,
      type: 'profile.updated',
      userId: admin.id,
      scope: 'user:read',
      data: {},
      createdAt: timeOf(id),
    },
  })
  await services.database.pool.query('SELECT number_events(1000)')
}

t.test('the months until two months from now exist, and are made again when they are missing', async (t) => {
  const { database, query } = await start(t)
  for (const table of ['events', 'webhook_deliveries']) {
    const made = async () => (await query(namesOf(table))).map(({ month }) => month)
    t.same(await made(), months(0, 2), table)
    await query(`DROP TABLE ${table}_${months(1, 1)[0]}; DROP TABLE ${table}_${months(2, 2)[0]}`)
    await runRetention(database)
    t.same(await made(), months(0, 2), `${table} again`)
  }
  t.same(await query('SELECT make_partitions() AS made'), [{ made: 0 }])
})

t.test('a new month has the indexes, constraints and triggers of the months before', async (t) => {
  const { query } = await start(t)
  for (const table of ['events', 'webhook_deliveries']) {
    const described: string[] = []
    for (const { name } of await query(`SELECT name FROM month_partitions() WHERE parent = '${table}'`)) {
      const rows = await query(
        `SELECT regexp_replace(pg_get_indexdef(indexrelid), '^.* USING', indisunique::text) AS text
           FROM pg_index WHERE indrelid = $1::regclass
         UNION ALL SELECT pg_get_constraintdef(oid) FROM pg_constraint
           WHERE conrelid = $1::regclass AND contype <> 'n'
         UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal
         UNION ALL SELECT attname || ' ' || option FROM pg_attribute, unnest(attoptions) option
           WHERE attrelid = $1::regclass AND option NOT LIKE 'pg_attver=%' ORDER BY 1`,
        [name],
      )
      described.push(rows.map(({ text }) => text).join('\n'))
    }
    t.equal(described.length, 4)
    t.equal(new Set(described).size, 1, described.join('\n\n'))
  }
})

t.test('an event and its deliveries are in the partitions of one month', async (t) => {
  const { server, query } = await start(t)
  const id = await createDelivery(server, server.admin.id)
  const [row] = await query(
    `SELECT d.tableoid::regclass::text AS delivery, e.tableoid::regclass::text AS event
     FROM webhook_deliveries d JOIN events e ON e.id = d.event_id WHERE d.id = $1`,
    [id],
  )
  const [month] = months(0, 0)
  t.same(row, { delivery: `webhook_deliveries_${month}`, event: `events_${month}` })
})

t.test('an event without a month is kept, is an alarm, and moves when its month is made', async (t) => {
  const { server, database, query } = await start(t)
  const readiness = async () => (await (await fetch(`${server.url}/readyz`)).json()) as any
  t.match(await readiness(), { status: 'ok', checks: { partitions: 'ok' } })
  const [month] = months(0, 0)
  await query(`ALTER TABLE events DETACH PARTITION events_${month}; DROP TABLE events_${month};
    ALTER TABLE webhook_deliveries DETACH PARTITION webhook_deliveries_${month};
    DROP TABLE webhook_deliveries_${month}`)
  for (const table of ['events', 'webhook_deliveries'])
    for (const name of months(1, 2)) await query(`DROP TABLE ${table}_${name}`)
  const { client } = server.admin
  const first = (await client.get('/events')).body.next_cursor
  const event = await createEvent(server, server.admin.id)
  const delivery = await createDelivery(server, server.admin.id)
  const read = async () => (await client.get(`/events?cursor=${first}`)).body.data
  t.equal((await read())[0].id, event)
  await t.rejects(requireMonths(database), /events_default/)
  const [{ attempts, updated_at: before }] = await query(
    'SELECT attempts, updated_at FROM webhook_deliveries',
  )

  await runRetention(database)
  await requireMonths(database)
  t.equal((await read())[0].id, event)
  t.same(
    await query('SELECT id, tableoid::regclass::text AS name, attempts, updated_at FROM webhook_deliveries'),
    [{ id: delivery, name: `webhook_deliveries_${month}`, attempts, updated_at: before }],
  )
  t.same(await query('SELECT DISTINCT tableoid::regclass::text AS name FROM events'), [
    { name: `events_${month}` },
  ])
})

t.test('an event of a wrong clock stays an alarm, and does not stop the other tasks', async (t) => {
  const { server, database } = await start(t)
  const id = newIdAt('evt', new Date(Date.now() + 365 * 86_400_000))
  await insertEvent(server, id)
  t.equal(await database.prisma.event.count({ where: { id, sequence: { not: null } } }), 1)
  t.match(await (await fetch(`${server.url}/readyz`)).json(), {
    status: 'degraded',
    checks: { partitions: 'unavailable' },
  })
  const errors: Error[] = []
  const counts = await runRetention(database, { onError: (error) => errors.push(error) })
  t.match(errors, [{ cause: /events_default/ }])
  t.ok(counts['months of events'] !== undefined)
})

t.test('retention drops whole months and nothing younger', async (t) => {
  const { server, database, query } = await start(t)
  await makeOldMonths(database)
  const [old, young, present] = [
    await createDelivery(server, server.admin.id),
    await createDelivery(server, server.admin.id),
    await createDelivery(server, server.admin.id),
  ]
  const eventOf = async (delivery: string) =>
    (await query('SELECT event_id AS id FROM webhook_deliveries WHERE id = $1', [delivery]))[0].id as string
  const presentEvent = await eventOf(present)
  await moveToMonth(database, [await eventOf(old)], 3)
  await moveToMonth(database, [await eventOf(young)], 1)
  await runRetention(database)
  t.same(
    (await query(`SELECT DISTINCT tableoid::regclass::text AS name FROM events ORDER BY 1`)).map(
      ({ name }) => name,
    ),
    [`events_${months(-1, -1)[0]}`, `events_${months(0, 0)[0]}`].sort(),
  )
  for (const table of ['events', 'webhook_deliveries']) {
    t.same(await query(`SELECT to_regclass('${table}_${months(-3, -3)[0]}') AS name`), [{ name: null }])
    t.equal((await query(`SELECT count(*)::int AS n FROM ${table}`))[0].n, 2, table)
  }
  t.equal((await server.admin.client.get(`/events/${presentEvent}`)).status, 200)
})

t.test('a month that ends is kept for the days of the setting and one more', async (t) => {
  const { database, query } = await start(t)
  await makeOldMonths(database)
  const [{ age }] = await query(
    `SELECT extract(epoch FROM now() - date_trunc('month', now(), 'UTC'))::float / 86400 AS age`,
  )
  const [last] = months(-1, -1)
  const exists = async () => (await query(`SELECT to_regclass('events_${last}') AS name`))[0].name !== null
  for (const days of [Math.max(Math.ceil(age) - 1, 1), 60]) {
    while ((await query('SELECT drop_old_partition($1) AS name', [days]))[0].name !== null);
    t.ok(await exists(), `${days} days`)
  }
  const least = Math.floor(age) - 2
  if (least < 1) return
  while ((await query('SELECT drop_old_partition($1) AS name', [least]))[0].name !== null);
  t.notOk(await exists(), `${least} days`)
})

t.test('a drop does not wait for a long read', async (t) => {
  const { database, query } = await start(t)
  await makeOldMonths(database)
  const reader = await database.openSession()
  await reader.query('BEGIN; SELECT count(*) FROM webhook_deliveries; SELECT count(*) FROM events')
  t.same(await query('SELECT drop_old_partition(30) AS name'), [{ name: null }])
  await reader.query('COMMIT')
  await reader.end()
  t.match(await query('SELECT drop_old_partition(30) AS name'), [{ name: /^webhook_deliveries_before_/ }])
})
