// Transactions that fail: no connection is reused inside an open transaction, and no query runs after the
// end.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import t from 'tap'
import { openDatabase, type Db } from '../../infra/database/database.ts'
import { createPool, queryOn } from '../../infra/database/pool.ts'
import { statement } from '../../infra/database/statements.ts'
import { wasRolledBack } from '../../infra/database/transaction.ts'
import { createTestDatabase } from '../support/database/database.ts'
import { waitUntil } from '../support/server/wait.ts'

const pid = statement<{ pid: number }>('SELECT pg_backend_pid() AS pid')
const insert = statement("INSERT INTO users (id, email, name) VALUES ($1, $2, 'x')")
const terminate = statement('SELECT pg_terminate_backend($1)')
const committing = statement(
  "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND query = 'COMMIT' AND state = 'active'",
)
const slow = statement('SELECT 1 AS x FROM pg_sleep($1)')

t.test('a connection inside an unfinished transaction is closed, not reused', async (t) => {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url, poolSize: 1, statementTimeout: 300 })
  const other = openDatabase({ url, poolSize: 1 })
  t.teardown(async () => {
    await db.close()
    await other.close()
  })
  let backend = 0
  const stalled = db.transaction(async (tx) => {
    ;[{ pid: backend }] = await tx.sql(pid, [])
    await tx.sql(insert, ['usr_stalled', 'stalled@example.com'])
    // PostgreSQL is suspended: it answers neither the statement nor the ROLLBACK.
    process.kill(backend, 'SIGSTOP')
    await tx.sql(pid, [])
  })
  await t.rejects(stalled, { code: 'UNAVAILABLE' })
  process.kill(backend, 'SIGCONT')
  await db.sql(insert, ['usr_after', 'after@example.com'])
  t.equal(
    await other.prisma.user.count({ where: { id: 'usr_after' } }),
    1,
    'other connections see the committed row',
  )
  t.equal(await other.prisma.user.count({ where: { id: 'usr_stalled' } }), 0)
})

t.test('a statement fails when PostgreSQL stops to answer on a connection that was idle', async (t) => {
  const { url } = await createTestDatabase(t)
  const pool = createPool({
    url,
    name: 'test',
    poolSize: 1,
    preparedStatements: true,
    statementTimeout: 200,
    pooled: false,
    connectTimeout: 60_000,
    onError: () => {},
  })
  t.teardown(() => pool.end())
  const client = await pool.connect()
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  await once(stream, 'timeout')
  client.release()
  process.kill(rows[0].pid, 'SIGSTOP')
  t.teardown(() => process.kill(rows[0].pid, 'SIGCONT'))
  await t.rejects(queryOn(pool, [{ text: 'SELECT 1' }]), /Query read timeout/)
})

t.test('no query runs after the end of its transaction', async (t) => {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url, poolSize: 1 })
  t.teardown(() => db.close())
  let late: Promise<unknown> = Promise.resolve()
  await db.transaction(async (tx) => {
    late = new Promise((resolve) => setTimeout(resolve, 200)).then(() =>
      tx.sql(insert, ['usr_late', 'late@example.com']),
    )
    late.catch(() => {})
  })
  await t.rejects(late)
  t.equal(await db.prisma.user.count({ where: { id: 'usr_late' } }), 0)
})

t.test('transactions that fail in any way leak no connection', async (t) => {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url, poolSize: 2, statementTimeout: 200 })
  t.teardown(() => db.close())
  for (let i = 0; i < 6; i++) {
    await t.rejects(
      db.transaction(async () => {
        throw new Error('of its own')
      }),
      /of its own/,
    )
    await t.rejects(
      db.transaction((tx) => tx.sql(slow, [1])),
      { code: 'UNAVAILABLE' },
    )
    await t.rejects(
      db.transaction(async (tx) => {
        const [{ pid: own }] = await tx.sql(pid, [])
        await tx.prisma.$queryRawUnsafe(`SELECT 1 AS x FROM pg_terminate_backend(${own})`)
      }),
      { code: 'UNAVAILABLE' },
    )
  }
  await waitUntil(() => db.pool.totalCount === db.pool.idleCount)
  t.equal(db.pool.waitingCount, 0)
  t.equal((await db.sql(pid, [])).length, 1)
})

t.test('all effects of a commit run, also when one fails', async (t) => {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url, poolSize: 1 })
  t.teardown(() => db.close())
  const ran: string[] = []
  const committed = db.transaction(async (tx) => {
    await tx.sql(pid, [])
    tx.afterCommit(() => Promise.reject(new Error('the first')))
    tx.afterCommit(async () => void ran.push('the second'))
  })
  await t.rejects(committed, { message: 'the first' })
  t.strictSame(ran, ['the second'])
})

t.test('a failed transaction reports whether it was surely rolled back', async (t) => {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url, poolSize: 1 })
  const other = openDatabase({ url, poolSize: 1 })
  t.teardown(async () => {
    await db.close()
    await other.close()
  })
  await db.pool.query(`
    CREATE FUNCTION at_the_end () RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.name = 'refused' THEN RAISE EXCEPTION 'no'; END IF;
      PERFORM pg_sleep(5); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER at_the_end AFTER INSERT ON users
      DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION at_the_end()`)
  const named = statement("INSERT INTO users (id, email, name) VALUES ($1, $1 || '@example.com', $2)")
  const failure = async (work: (tx: Db) => Promise<unknown>): Promise<unknown> =>
    await db.transaction(work).then(
      () => null,
      (error) => error,
    )

  t.ok(
    wasRolledBack(
      await failure(async () => {
        throw new Error('of its own')
      }),
    ),
  )
  t.ok(wasRolledBack(await failure((tx) => tx.sql(named, ['usr_a', null]))), 'rejected before the COMMIT')
  t.ok(wasRolledBack(await failure((tx) => tx.sql(named, ['usr_b', 'refused']))), 'rejected by the COMMIT')
  t.ok(
    wasRolledBack(
      await failure(async (tx) => {
        const [{ pid: own }] = await tx.sql(pid, [])
        await other.sql(terminate, [own])
        await tx.sql(pid, [])
      }),
    ),
    'connection lost before the COMMIT',
  )
  let own = 0
  const cut = failure(async (tx) => {
    ;[{ pid: own }] = await tx.sql(pid, [])
    await tx.sql(named, ['usr_c', 'slow'])
  })
  await waitUntil(async () => (await other.sql(committing, [own])).length > 0, 'the COMMIT')
  await other.sql(terminate, [own])
  t.notOk(wasRolledBack(await cut), 'connection lost during the COMMIT')
  t.notOk(wasRolledBack(new Error('unrelated')))
})

t.test('options in the database URL do not override the options that this module needs', async (t) => {
  const { url } = await createTestDatabase(t)
  const asking = new URL(url)
  asking.searchParams.set('options', '-c timezone=Asia/Tokyo -c statement_timeout=0 -c work_mem=5MB')
  const db = openDatabase({ url: asking.href, statementTimeout: 7_000 })
  t.teardown(() => db.close())
  const read = statement<{ zone: string; time: string; mem: string; at: string }>(
    `SELECT current_setting('timezone') AS zone, current_setting('statement_timeout') AS time,
       current_setting('work_mem') AS mem, now() AS at`,
  )
  const [row] = await db.sql(read, [])
  t.match(row, { zone: 'UTC', time: '7s', mem: '5MB' })
  t.ok(Math.abs(Date.parse(row.at) - Date.now()) < 60_000)
})

t.test('a statement that is sent with COMMIT belongs to the transaction', async (t) => {
  const { url } = await createTestDatabase(t)
  const db = openDatabase({ url, poolSize: 1 })
  t.teardown(() => db.close())
  const users = async (): Promise<string[]> =>
    (await db.prisma.user.findMany({ select: { id: true }, orderBy: { id: 'asc' } })).map(({ id }) => id)
  const add = (tx: Db, id: string): void => {
    tx.later.sql(insert, [id, `${id}@example.com`]).catch(() => {})
  }

  await db.transaction(async (tx) => {
    await tx.sql(insert, ['usr_a', 'usr_a@example.com'])
    add(tx, 'usr_b')
  })
  t.same(await users(), ['usr_a', 'usr_b'], 'it is committed')
  await t.rejects(
    db.transaction(async (tx) => {
      await tx.sql(insert, ['usr_c', 'usr_c@example.com'])
      add(tx, 'usr_a')
    }),
    { code: '23505' },
  )
  t.same(await users(), ['usr_a', 'usr_b'], 'when it fails, nothing is')
  await t.rejects(
    db.transaction(async (tx) => {
      add(tx, 'usr_d')
      throw new Error('of its own')
    }),
    /of its own/,
  )
  await db.transaction(async (tx) => {
    add(tx, 'usr_e')
    t.equal((await tx.prisma.user.findMany({ where: { id: 'usr_e' } })).length, 1, 'before the next one')
  })
  t.same(await users(), ['usr_a', 'usr_b', 'usr_e'])
  await t.rejects(
    db.transaction(async (tx) => {
      await tx.sql(insert, ['usr_f', 'usr_f@example.com'])
      await tx.sql(insert, ['usr_a', 'usr_a@example.com']).catch(() => {})
    }),
    /rolled back/,
    'a statement had failed and the work went on',
  )
  t.same(await users(), ['usr_a', 'usr_b', 'usr_e'])
  t.equal((await db.sql(pid, [])).length, 1, 'the connection is in order')
})
