// The migrations to partitions by month, with the rows of 1.10.0 and while a server writes.
import pg from 'pg'
import t, { type Test } from 'tap'
import { newIdAt } from '../../infra/ids.ts'
import { applyMigrations, readMigrations } from '../../infra/postgres/migrations.ts'
import { createEmptyDatabase } from '../support/database.ts'

const day = 86_400_000
const earlier = readMigrations()
  .map(({ name }) => name)
  .filter((name) => name < '20261226')

/** A database of 1.10.0 with events of these days ago, each with a delivery. */
async function formerDatabase(t: Test, daysAgo: number[]) {
  const url = await createEmptyDatabase(t)
  await applyMigrations(url, () => {}, { only: earlier })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  const query = async (text: string, values: unknown[] = []): Promise<any[]> =>
    (await client.query(text, values)).rows
  await query(`INSERT INTO users (id, name, email) VALUES ('usr_a', 'Ada', 'ada@example.com');
    INSERT INTO webhook_endpoints (id, user_id, url, event_types, scopes, project_ids, secret)
    VALUES ('whe_a', 'usr_a', 'https://example.com', '{*}', '{}', '{}', 's')`)
  for (const ago of daysAgo) await insertEvent(client, new Date(Date.now() - ago * day))
  await query('SELECT number_events(1000)')
  return { url, query }
}

/** As servers of 1.10.0 do: the event first. */
async function insertEvent(client: pg.Client, at: Date): Promise<string> {
  const id = newIdAt('evt', at)
  await client.query('BEGIN')
  await client.query(
    `INSERT INTO events (id, type, user_id, scope, data, created_at)
     VALUES ($1, 'profile.updated', 'usr_a', 'user:read', '{}', $2)`,
    [id, at],
  )
  await client.query(
    `INSERT INTO webhook_deliveries (id, endpoint_id, event_id, created_at) VALUES ($1, 'whe_a', $2, $3)`,
    [newIdAt('whd', at), id, at],
  )
  await client.query('COMMIT')
  return id
}

const rowsOf = (table: string) => `SELECT to_jsonb(x) AS row FROM ${table} x ORDER BY id`

t.test('all rows are there, and a server that writes meanwhile loses none', async (t) => {
  const { url, query } = await formerDatabase(t, [60, 30, 1, 0])
  const before = [await query(rowsOf('events')), await query(rowsOf('webhook_deliveries'))]

  const writer = new pg.Client({ connectionString: url })
  await writer.connect()
  t.teardown(() => writer.end())
  const written: string[] = []
  let stopped = false
  const writing = (async () => {
    while (!stopped) written.push(await insertEvent(writer, new Date()))
  })()
  await applyMigrations(url)
  const count = written.length
  while (written.length < count + 5) await new Promise((resolve) => setTimeout(resolve, 5))
  stopped = true
  await writing
  t.ok(count > 0, `${count} events during the migrations`)

  for (const [i, table] of ['events', 'webhook_deliveries'].entries()) {
    const after = await query(rowsOf(table))
    const known = new Set(before[i].map(({ row }) => row.id))
    t.same(
      after.filter(({ row }) => known.has(row.id)),
      before[i],
      table,
    )
    t.equal(after.length, before[i].length + written.length)
    const names = await query(`SELECT DISTINCT tableoid::regclass::text AS name FROM ${table}`)
    t.match(
      names,
      [{ name: new RegExp(`^${table}_before_\\d{4}_\\d\\d$`) }],
      'the former table is the first month',
    )
    t.match(
      await query(`SELECT ends > now() + interval '13 days' AND ends < now() + interval '47 days' AS near
        FROM month_partitions() WHERE name = '${names[0].name}'`),
      [{ near: true }],
    )
    t.same(
      await query(`SELECT count(*)::int AS n FROM pg_constraint WHERE conname = '${table}_before'`),
      [{ n: 0 }],
      'no constraint limits the ids',
    )
    t.same(
      await query(`SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
        WHERE x.indrelid = '${names[0].name}'::regclass AND NOT i.relispartition
        ORDER BY 1`),
      table === 'events' ? [{ relname: `${names[0].name}_sequence_key` }] : [],
      'its indexes are parts of the indexes of the new table',
    )
  }
  await query(`SELECT number_events(${written.length + 4})`)
  t.match(await query('SELECT count(DISTINCT sequence)::int AS n FROM events'), [{ n: 4 + written.length }])
  t.match(
    await query(
      `UPDATE webhook_deliveries SET status = 'failed'
       RETURNING updated_at > now() - interval '1 minute' AS set`,
    ),
    [{ set: true }],
  )
  await query('DELETE FROM webhook_endpoints')
  t.same(await query('SELECT FROM webhook_deliveries'), [], 'deliveries go with their endpoint')
})

t.test('events of a clock that was ahead move to the default partition', async (t) => {
  const { url, query } = await formerDatabase(t, [1, -200])
  const before = await query('SELECT id FROM events ORDER BY id')
  await applyMigrations(url)
  t.same(await query('SELECT id FROM events ORDER BY id'), before)
  t.same(await query('SELECT default_partitions_have_rows() AS filled'), [{ filled: true }])
  t.same(await query('SELECT count(*)::int AS n FROM events_default'), [{ n: 1 }])
})

t.test('an empty database begins with the present month', async (t) => {
  const { url, query } = await formerDatabase(t, [])
  await applyMigrations(url)
  t.match(
    await query(`SELECT name FROM month_partitions() WHERE parent = 'events' AND name LIKE '%before%'
      AND ends = date_trunc('month', now() AT TIME ZONE 'UTC')`),
    { length: 1 },
  )
})

t.test('grants of the former tables hold for the new ones', async (t) => {
  const { url, query } = await formerDatabase(t, [1])
  await query('GRANT SELECT ON events TO PUBLIC; GRANT UPDATE ON webhook_deliveries TO PUBLIC')
  await applyMigrations(url)
  t.match(
    await query(
      `SELECT c.relname, a.privilege_type FROM pg_class c, aclexplode(c.relacl) a
       WHERE a.grantee = 0 AND c.relname IN ('events', 'webhook_deliveries') ORDER BY 1`,
    ),
    [
      { relname: 'events', privilege_type: 'SELECT' },
      { relname: 'webhook_deliveries', privilege_type: 'UPDATE' },
    ],
  )
})
