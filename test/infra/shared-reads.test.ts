// Reads that are asked for together are one round trip. Errors, slowness and turns remain each user's own.
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { openDatabase, type Db } from '../../infra/database/database.ts'
import { many } from '../../infra/database/queries.ts'
import { onlyReads } from '../../scripts/generate/sql/emit.ts'
import { readCatalog } from '../../scripts/generate/sql/catalog.ts'
import { readSources } from '../../scripts/generate/sql/source.ts'
import { createTestDatabase } from '../support/database/database.ts'

const echo = many<{ value: number }, { value: number; backend: number; at: string }>(
  'test/echo',
  'SELECT $1::int AS value, pg_backend_pid() AS backend, transaction_timestamp()::text AS at',
  ['value'],
  { reads: true },
)
const divide = many<{ by: number }, { result: number }>(
  'test/divide',
  'SELECT 1 / $1::int AS result',
  ['by'],
  {
    reads: true,
  },
)
const sleep = many<{ seconds: number }, { slept: unknown }>(
  'test/sleep',
  'SELECT pg_sleep($1::float8)::text AS slept',
  ['seconds'],
  { reads: true },
)

async function open(t: Test, poolSize = 5) {
  const { url } = await createTestDatabase(t)
  const trips: number[] = []
  const database = openDatabase({ url, poolSize })
  t.teardown(() => database.close())
  database.pool.on('acquire', () => trips.push(1))
  const of = (user: string): Db => database.forRequest({ id: `req_${user}`, actor: null, accountId: user })
  return { database, of, trips }
}

t.test('the reads of an iteration are one round trip, with a result each', async (t) => {
  const { of, trips } = await open(t)
  const results = await Promise.all(
    Array.from({ length: 16 }, (_, value) => echo(of(`u${value}`), { value })),
  )
  t.same(
    results.map(([{ value }]) => value),
    Array.from({ length: 16 }, (_, value) => value),
  )
  t.equal(new Set(results.map(([{ backend, at }]) => `${backend} ${at}`)).size, 1, 'one transaction')
  t.equal(trips.length, 1)
})

t.test('a batch has at most sixteen reads', async (t) => {
  const { of, trips } = await open(t, 1)
  await Promise.all(Array.from({ length: 40 }, (_, value) => echo(of(`u${value}`), { value })))
  t.equal(trips.length, 3)
})

t.test('a user with many reads has batches of its own', async (t) => {
  const { of, trips } = await open(t, 1)
  const order: string[] = []
  const read = (user: string) => async () => {
    await echo(of(user), { value: 0 })
    order.push(user)
  }
  const users = [...Array.from({ length: 40 }, () => 'busy'), 'other', 'third', 'other']
  await Promise.all(users.map((user) => read(user)()))
  t.equal(trips.length, 4)
  t.same(order.slice(0, 3), ['other', 'third', 'other'], 'those of the others share the first batch')
})

t.test('an error is that of its own statement', async (t) => {
  const { of, trips } = await open(t)
  const results = await Promise.allSettled([
    echo(of('a'), { value: 1 }),
    divide(of('b'), { by: 0 }),
    divide(of('c'), { by: 1 }),
  ])
  t.same(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  t.match(results[1], { reason: { code: '22012' } })
  t.equal(trips.length, 4, 'each again, alone')
  trips.length = 0
  await Promise.all([
    divide(of('b'), { by: 0 }).catch(() => {}),
    ...['a', 'c'].map((u) => echo(of(u), { value: 1 })),
  ])
  t.equal(trips.length, 2, 'the user with the error reads alone, the others share again')
})

t.test('after a slow read its user reads alone, and delays no other', async (t) => {
  const { of, database, trips } = await open(t)
  await Promise.all([sleep(of('slow'), { seconds: 0.1 }), echo(of('quick'), { value: 1 })])
  await echo(of('quick'), { value: 1 })
  trips.length = 0
  const slow = sleep(of('slow'), { seconds: 10 })
  const stopped = t.rejects(slow)
  t.match(await echo(of('quick'), { value: 2 }), [{ value: 2 }], 'answered while the other sleeps')
  t.equal(trips.length, 2)
  const { rows } = await database.pool.query(
    `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep%' AND state = 'active'
     AND pid <> pg_backend_pid()`,
  )
  t.equal(rows.length, 1)
  await stopped
})

t.test('a transaction reads on its own connection', async (t) => {
  const { of } = await open(t)
  await of('a').transaction(async (tx) => {
    const [[first], [second]] = await Promise.all([echo(tx, { value: 1 }), echo(of('b'), { value: 2 })])
    t.not(first.backend, second.backend)
  })
})

t.test('what counts as a read has no effect in PostgreSQL', async (t) => {
  const { url } = await createTestDatabase(t)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  const catalog = await readCatalog(client)
  const sources = readSources(join(import.meta.dirname, '../..')).filter(({ returns }) => returns !== 'page')
  const reads = sources.filter(({ text }) => onlyReads(text.sql, catalog))
  t.ok(reads.length > 150, `${reads.length} statements`)
  for (const { file, text, parameters } of reads) {
    await client.query('BEGIN READ ONLY')
    const refusal = await client
      .query(
        text.sql,
        parameters.map(() => null),
      )
      .catch((error) => error.code)
    t.not(refusal, '25006', file)
    await client.query('ROLLBACK')
  }
  for (const sql of [
    'SELECT 1 FROM projects FOR UPDATE',
    'SELECT 1 FROM projects FOR KEY SHARE SKIP LOCKED',
    'WITH gone AS (DELETE FROM files RETURNING 1) SELECT * FROM gone',
    "SELECT pg_notify('a', 'b')",
    "SELECT nextval('events_position_seq')",
    "SELECT lock_storage('x')",
    'UPDATE projects SET name = name',
  ])
    t.notOk(onlyReads(sql, catalog), sql)
})
