// Applying migrations: once each, whole or not at all, and in Prisma's own books.
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { diagnoseHistory } from '../../scripts/migrate/schema-engine.ts'
import { applyMigrations, MigrationError, requireMigrations } from '../../infra/postgres/migrations.ts'
import manifest from '../../package.json' with { type: 'json' }
import { administerWhenFree, createTestDatabase } from '../support/database/database.ts'
import { runProgram } from '../support/server/program.ts'
import { waitUntil } from '../support/server/wait.ts'

const MIGRATING = 'support/database/migrating-server.ts'

/** A function body with semicolons. Only PostgreSQL can distinguish them from ends of statements. */
const WITH_FUNCTION = `
  CREATE TABLE one (n int);
  CREATE FUNCTION plus_one(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN n := n + 1; RETURN n; END $$;
  INSERT INTO one VALUES (plus_one(0));`

function folderOf(t: Test, migrations: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'migrations-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, script] of Object.entries(migrations)) write(folder, name, script)
  writeFileSync(join(folder, 'migration_lock.toml'), 'provider = "postgresql"\n')
  return folder
}

function write(folder: string, name: string, script: string): void {
  mkdirSync(join(folder, name), { recursive: true })
  writeFileSync(join(folder, name, 'migration.sql'), script)
}

/** An empty database, unlike the template's copies. */
async function emptyDatabase(
  t: Test,
): Promise<{ url: string; query: (sql: string) => Promise<Record<string, unknown>[]> }> {
  const server = String(process.env['TEST_DATABASE_URL'])
  const name = `empty_${randomBytes(6).toString('hex')}`
  await run(server, `CREATE DATABASE ${name}`)
  t.teardown(() => administerWhenFree(`DROP DATABASE ${name} WITH (FORCE)`))
  const url = new URL(server)
  url.pathname = `/${name}`
  return { url: url.href, query: (sql) => run(url.href, sql) }
}

async function run(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

const NAMES = `SELECT migration_name AS name FROM _prisma_migrations
   WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY started_at`

async function sentenceOf(t: Test, applying: Promise<unknown>): Promise<string> {
  const error = await applying.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  t.type(error, MigrationError)
  const message = error instanceof Error ? error.message : ''
  t.notMatch(message, /\n/, 'it is one line')
  return message
}

t.test('migrations are applied once, in order, and recorded as Prisma records them', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const folder = folderOf(t, {
    '20260102000000_two': 'ALTER TABLE one ADD m int',
    '20260101000000_one': WITH_FUNCTION,
  })
  t.strictSame(await applyMigrations(url, () => {}, { folder }), ['20260101000000_one', '20260102000000_two'])
  t.strictSame(await query('SELECT n, m FROM one'), [{ n: 1, m: null }])
  t.strictSame(await applyMigrations(url, () => {}, { folder }), [], 'the second time there is nothing to do')

  const rows = await query('SELECT * FROM _prisma_migrations ORDER BY migration_name')
  t.match(rows[0], {
    id: /^[0-9a-f-]{36}$/,
    checksum: createHash('sha256').update(WITH_FUNCTION).digest('hex'),
    migration_name: '20260101000000_one',
    logs: null,
    rolled_back_at: null,
    started_at: Date,
    finished_at: Date,
    applied_steps_count: 1,
  })
  const schemaFile = fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url))
  t.strictSame(
    await diagnoseHistory({ url, schemaFile, migrationsFolder: folder }),
    {
      editedMigrationNames: [],
      failedMigrationNames: [],
      hasMigrationsTable: true,
      history: null,
    },
    'Prisma itself finds nothing amiss',
  )
})

t.test('a database with all migrations applied costs one query', async (t) => {
  const { url } = await createTestDatabase(t)
  const progress: string[] = []
  t.strictSame(await applyMigrations(url, (message) => progress.push(message)), [])
  t.strictSame(progress, [])
})

t.test('servers that start together apply each migration once', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const folder = folderOf(t, {
    '20260101000000_one': `${WITH_FUNCTION} SELECT pg_sleep(0.1)`,
    '20260102000000_two': 'INSERT INTO one VALUES (2)',
  })
  const servers = [0, 1, 2].map(() => runProgram(t, MIGRATING, [url, folder]))
  const applied = await Promise.all(
    servers.map(async (server) => (await server.line('applied'))['applied'] as string[]),
  )
  t.strictSame(applied.flat().sort(), ['20260101000000_one', '20260102000000_two'])
  t.strictSame(await query('SELECT n FROM one ORDER BY n'), [{ n: 1 }, { n: 2 }])
  t.equal((await query(NAMES)).length, 2)
})

t.test('a server that is killed during a migration leaves a database that needs no repair', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const folder = folderOf(t, {
    '20260101000000_one': WITH_FUNCTION,
    '20260102000000_two': 'INSERT INTO one VALUES (2); SELECT pg_sleep(0.5); INSERT INTO one VALUES (3)',
  })
  const server = runProgram(t, MIGRATING, [url, folder])
  const asleep = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
  const deadline = Date.now() + 20_000
  while ((await query(asleep)).length === 0) {
    if (Date.now() > deadline) throw new Error('Waited in vain for the migration to begin.')
    await sleep(5)
  }
  await server.kill('SIGKILL')
  t.strictSame(await applyMigrations(url, () => {}, { folder }), ['20260102000000_two'])
  t.strictSame(
    await query('SELECT n FROM one ORDER BY n'),
    [{ n: 1 }, { n: 2 }, { n: 3 }],
    'each statement took effect once',
  )
  t.equal((await query('SELECT FROM _prisma_migrations')).length, 2, 'and no record of the attempt is left')
})

t.test('a failing migration is rolled back completely and can be corrected', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const folder = folderOf(t, {
    '20260101000000_one': WITH_FUNCTION,
    '20260102000000_two': 'INSERT INTO one VALUES (2); INSERT INTO nowhere VALUES (1)',
  })
  t.match(
    await sentenceOf(
      t,
      applyMigrations(url, () => {}, { folder }),
    ),
    /20260102000000_two failed \(relation "nowhere" does not exist\)/,
  )
  t.strictSame(await query('SELECT n FROM one'), [{ n: 1 }])
  t.strictSame(await query(NAMES), [{ name: '20260101000000_one' }])

  write(folder, '20260102000000_two', 'INSERT INTO one VALUES (2)')
  t.strictSame(await applyMigrations(url, () => {}, { folder }), ['20260102000000_two'])
})

t.test('a migration that was edited after it was applied is rejected', async (t) => {
  const { url } = await emptyDatabase(t)
  const folder = folderOf(t, { '20260101000000_one': WITH_FUNCTION })
  await applyMigrations(url, () => {}, { folder })
  write(folder, '20260101000000_one', WITH_FUNCTION.replaceAll('\n', '\r\n'))
  t.strictSame(await applyMigrations(url, () => {}, { folder }), [], 'other line endings are no edit')
  write(folder, '20260101000000_one', `${WITH_FUNCTION}\nSELECT 1`)
  t.match(
    await sentenceOf(
      t,
      applyMigrations(url, () => {}, { folder }),
    ),
    /20260101000000_one was edited after it was applied/,
  )
})

t.test('a migration cannot end its own transaction', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const folder = folderOf(t, { '20260101000000_one': 'CREATE TABLE one (n int); COMMIT' })
  t.match(
    await sentenceOf(
      t,
      applyMigrations(url, () => {}, { folder }),
    ),
    /ends its transaction itself/,
  )
  t.strictSame(await query(NAMES), [])
})

t.test('a migration can declare that it runs outside a transaction', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const folder = folderOf(t, {
    '20260101000000_one': WITH_FUNCTION,
    '20260102000000_index':
      '-- outside a transaction\nCREATE INDEX CONCURRENTLY IF NOT EXISTS one_n ON one (n)',
  })
  const both = await Promise.all([0, 1].map(() => applyMigrations(url, () => {}, { folder })))
  t.equal(both.flat().length, 2, 'also while another server waits for it')
  t.strictSame(await query("SELECT indisvalid FROM pg_index WHERE indexrelid = 'one_n'::regclass"), [
    { indisvalid: true },
  ])
})

t.test('a database of other migrations is refused, and the cure is named', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const before = folderOf(t, { '20260101000000_one': WITH_FUNCTION, '20260102000000_two': 'SELECT 1' })
  await applyMigrations(url, () => {}, { folder: before })
  const folder = folderOf(t, { '20260103000000_init': 'CREATE TABLE three (n int)' })
  const message = /lacks 20260103000000_init, the first one\. .*`npm run backup`.*`npm run restore`/
  await t.rejects(
    applyMigrations(url, () => {}, { folder }),
    message,
  )
  await t.rejects(requireMigrations(url, { folder }), message)
  t.strictSame(await query("SELECT to_regclass('three') AS found"), [{ found: null }])
})

t.test('progress is one line, however many migrations there are', async (t) => {
  const { url } = await emptyDatabase(t)
  const folder = folderOf(t, { '20260101000000_one': WITH_FUNCTION, '20260102000000_two': 'SELECT 1' })
  const lines: string[] = []
  await applyMigrations(url, (line) => lines.push(line), { folder })
  t.strictSame(lines, ['applying 2 migrations, from 20260101000000_one on'])
})

t.test('a database with tables of another application is not changed', async (t) => {
  const { url, query } = await emptyDatabase(t)
  await query('CREATE TABLE invoices (n int)')
  const folder = folderOf(t, { '20260101000000_one': WITH_FUNCTION })
  t.match(
    await sentenceOf(
      t,
      applyMigrations(url, () => {}, { folder }),
    ),
    /already holds tables \(invoices\)/,
  )
  t.strictSame(await query("SELECT to_regclass('_prisma_migrations') AS history"), [{ history: null }])
})

t.test('a migration that waits for a table lets other statements pass', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const folder = folderOf(t, { '20260101000000_one': WITH_FUNCTION })
  await applyMigrations(url, () => {}, { folder })
  const reader = new pg.Client({ connectionString: url })
  await reader.connect()
  t.teardown(() => reader.end())
  await reader.query('BEGIN; SELECT n FROM one')
  write(folder, '20260102000000_two', 'ALTER TABLE one ADD m int')
  const progress: string[] = []
  const migrating = applyMigrations(url, (message) => progress.push(message), { folder })
  await waitUntil(() => progress.includes('waiting for a table that another transaction uses'))
  // Each attempt waits for at most a second, and pauses afterwards.
  const other = new pg.Client({ connectionString: url, statement_timeout: 10_000 })
  await other.connect()
  t.teardown(() => other.end())
  for (let i = 0; i < 3; i++) t.strictSame((await other.query('SELECT n FROM one')).rows, [{ n: 1 }])
  await reader.query('COMMIT')
  t.strictSame(await migrating, ['20260102000000_two'])
  t.strictSame(await query('SELECT n, m FROM one'), [{ n: 1, m: null }])
})

t.test('a server that may not migrate names the missing migrations', async (t) => {
  const { url } = await emptyDatabase(t)
  const folder = folderOf(t, { '20260101000000_one': WITH_FUNCTION })
  t.match(
    await sentenceOf(t, requireMigrations(url, { folder })),
    /lacks 1 migrations, the first of them 20260101000000_one: run `npm run migrate`/,
  )
  await applyMigrations(url, () => {}, { folder })
  await requireMigrations(url, { folder })
})

t.test('an older server refuses a database that is for newer ones', async (t) => {
  const { url } = await createTestDatabase(t)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  for (const version of ['1.0.0', manifest.version]) {
    await client.query('UPDATE schema_requirements SET oldest_server = $1', [version])
    t.strictSame(await applyMigrations(url), [])
  }
  await client.query("UPDATE schema_requirements SET oldest_server = '1.1000.0'")
  for (const start of [applyMigrations, requireMigrations])
    t.match(await sentenceOf(t, start(url)), /is for servers of version 1\.1000\.0 or later, and this is/)
})

t.test('the error names a migration that another tool left unfinished', async (t) => {
  const { url, query } = await emptyDatabase(t)
  const folder = folderOf(t, { '20260101000000_one': WITH_FUNCTION })
  await applyMigrations(url, () => {}, { folder })
  await query('UPDATE _prisma_migrations SET finished_at = NULL')
  t.match(
    await sentenceOf(
      t,
      applyMigrations(url, () => {}, { folder }),
    ),
    /20260101000000_one was started by another tool/,
  )
})

t.test('the error for an unreachable database does not contain its password', async (t) => {
  const message = await sentenceOf(t, applyMigrations('postgresql://ada:hush@127.0.0.1:1/nowhere'))
  t.match(message, /cannot be reached.*DATABASE_URL/)
  t.notMatch(message, /hush/)
})
