// Applies prisma/migrations in order and records each as `prisma migrate deploy` does. A migration and its
// record are one transaction, so a start that is killed needs no manual repair.
import { createHash, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import { openConnection } from '../database/client.ts'
import { connectionProblem } from '../database/connection-problem.ts'
import { version } from '../version.ts'
import { codeOf, reasonOf } from './errors.ts'

export class MigrationError extends Error {
  override readonly name = 'MigrationError'
  /** The place in the migration, with the line; empty if PostgreSQL names no place. */
  readonly excerpt: string

  constructor(message: string, excerpt = '', options?: ErrorOptions) {
    super(message, options)
    this.excerpt = excerpt
  }
}

export interface MigrationOptions {
  /** The folder of the migrations. Default `prisma/migrations`. */
  folder?: string
  /** Applies no others. Default: all in the folder. */
  only?: string[]
}

interface Migration {
  name: string
  script: string
}

interface AppliedRow {
  migration_name: string
  checksum: string
  finished: boolean
}

const DEFAULT_FOLDER = fileURLToPath(new URL('../../prisma/migrations', import.meta.url))

/** The advisory lock. No other lock may use this number; Prisma's own lock is 72707369. */
const LOCK = 7_311_903_265

/**
 * A migration that waits for a table makes all later statements on the table wait. So it gives up soon, lets
 * them pass, and tries again.
 */
const LOCK_TIMEOUT = '1s'
const LOCK_PAUSE = 2_000
const LOCK_ATTEMPTS = 200

/**
 * The first line of a migration that PostgreSQL refuses to run in a transaction (`CREATE INDEX
 * CONCURRENTLY`). It holds one statement that may run twice (`IF NOT EXISTS`), since it may be killed between
 * its end and its record.
 */
const OUTSIDE_TRANSACTION = '-- outside a transaction'

const MISSING_TABLE = '42P01'
const LOCK_NOT_AVAILABLE = '55P03'

const HISTORY_TABLE = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                  VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum            VARCHAR(64) NOT NULL,
    finished_at         TIMESTAMPTZ,
    migration_name      VARCHAR(255) NOT NULL,
    logs                TEXT,
    rolled_back_at      TIMESTAMPTZ,
    started_at          TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count INTEGER NOT NULL DEFAULT 0
  )`

/** @throws MigrationError if migrations are missing, or the database is only for newer servers. */
export async function requireMigrations(url: string, options: MigrationOptions = {}): Promise<void> {
  const missing = await missingMigrations(url, options)
  if (missing.length > 0)
    throw new MigrationError(
      `The database lacks ${missing.length} migrations, the first of them ${missing[0]}: run ` +
        '`npm run migrate`, or start the server without MIGRATE=false.',
    )
}

/**
 * The names of the migrations that are not applied. @throws MigrationError if the database is only for newer
 * servers, or one of its migrations is not that of this version.
 */
export async function missingMigrations(
  url: string,
  { folder = DEFAULT_FOLDER }: MigrationOptions = {},
): Promise<string[]> {
  const client = await connect(url)
  try {
    await requireSupportedServer(client)
    return (await pending(client, readMigrations(folder))).map(({ name }) => name)
  } finally {
    await client.end().catch(() => {})
  }
}

/**
 * Applies the missing migrations and returns their names. Safe to call from any number of servers at once.
 */
export async function applyMigrations(
  url: string,
  onProgress: (message: string) => void = () => {},
  { folder = DEFAULT_FOLDER, only }: MigrationOptions = {},
): Promise<string[]> {
  const migrations = readMigrations(folder).filter(({ name }) => only?.includes(name) ?? true)
  const client = await connect(url)
  try {
    await requireSupportedServer(client)
    if ((await pending(client, migrations)).length === 0) return []
    await takeLock(client, onProgress)
    // Another server may have applied them while it held the lock.
    const missing = await pending(client, migrations)
    if (missing.length > 0) await prepareHistory(client)
    if (missing.length > 0) onProgress(progressOf(missing))
    for (const migration of missing) await applyWhenFree(client, migration, onProgress)
    return missing.map(({ name }) => name)
  } finally {
    // Ends the session and releases the lock.
    await client.end().catch(() => {})
  }
}

function progressOf(missing: Migration[]): string {
  const [{ name }] = missing
  return missing.length === 1
    ? `applying the migration ${name}`
    : `applying ${missing.length} migrations, from ${name} on`
}

export function readMigrations(folder = DEFAULT_FOLDER): Migration[] {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  return names.sort().map((name) => {
    try {
      return { name, script: readFileSync(join(folder, name, 'migration.sql'), 'utf8') }
    } catch {
      throw new MigrationError(
        `The migration ${name} has no readable migration.sql: restore the file, or remove its folder ` +
          'if it was never applied.',
      )
    }
  })
}

async function connect(url: string): Promise<pg.Client> {
  try {
    const client = await openConnection({ url, name: 'migrations', target: 'read-write' })
    await client.query(
      'SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0; SET lock_timeout = ' +
        `'${LOCK_TIMEOUT}'`,
    )
    await loadTrigrams(client)
    return client
  } catch (error) {
    const problem =
      connectionProblem(error) ??
      `The database cannot be reached to apply migrations (${reasonOf(error) || codeOf(error)}): check ` +
        'DATABASE_URL and that the database runs.'
    throw new MigrationError(problem)
  }
}

/**
 * Loads the library of pg_trgm into the session. Until then, PostgreSQL lets only a superuser create a
 * function that sets one of its parameters.
 */
async function loadTrigrams(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_extension WHERE extname = 'pg_trgm'")
  if (rowCount === 1) await client.query("SELECT show_trgm('')")
}

/**
 * The migrations that are not applied yet. Throws when an applied one differs from the file in the folder, or
 * when the database was created by other migrations.
 */
async function pending(client: pg.Client, migrations: Migration[]): Promise<Migration[]> {
  const applied = new Map((await readHistory(client)).map((row) => [row.migration_name, row]))
  if (applied.size > 0 && migrations.length > 0 && !applied.has(migrations[0].name))
    throw new MigrationError(
      `The database has other migrations than this version: it lacks ${migrations[0].name}, the first one. ` +
        'To bring its data along, make a backup with the version that the database belongs to ' +
        '(`npm run backup`), and restore it with this one into an empty database (`npm run restore`).',
    )
  return migrations.filter((migration) => {
    const row = applied.get(migration.name)
    if (row === undefined) return true
    if (!checksums(migration.script).includes(row.checksum)) {
      throw new MigrationError(
        `The migration ${migration.name} was edited after it was applied to this database: restore its ` +
          'text, and write the change as a new migration.',
      )
    }
    if (row.finished) return false
    throw new MigrationError(
      `The migration ${migration.name} was started by another tool and not finished: check whether its ` +
        'changes are in the database, and record that with prisma migrate resolve.',
    )
  })
}

/** Older servers may run on a newer schema until a migration removes what they use. */
async function requireSupportedServer(client: pg.Client, server = version): Promise<void> {
  const { rows } = await client
    .query<{ oldest_server: string }>('SELECT oldest_server FROM schema_requirements')
    .catch((error) => {
      if (codeOf(error) === MISSING_TABLE) return { rows: [] }
      throw error
    })
  const oldest = rows[0]?.oldest_server ?? server
  if (server.localeCompare(oldest, 'en', { numeric: true }) >= 0) return
  throw new MigrationError(
    `The database is for servers of version ${oldest} or later, and this is version ${server}: install a ` +
      'newer version, or restore a backup from before the upgrade.',
  )
}

async function readHistory(client: pg.Client): Promise<AppliedRow[]> {
  try {
    const { rows } = await client.query<AppliedRow>(
      `SELECT migration_name, checksum, finished_at IS NOT NULL AS finished
       FROM _prisma_migrations WHERE rolled_back_at IS NULL`,
    )
    return rows
  } catch (error) {
    if (codeOf(error) === MISSING_TABLE) return []
    throw error
  }
}

/** Like Prisma, accepts the script with either line ending, because a checkout may change them. */
function checksums(script: string): string[] {
  const unix = script.replaceAll('\r\n', '\n')
  return [script, unix, unix.replaceAll('\n', '\r\n')].map(checksum)
}

function checksum(script: string): string {
  return createHash('sha256').update(script).digest('hex')
}

/**
 * Polls for the lock instead of waiting in a statement, whose snapshot would block a concurrent index build.
 */
async function takeLock(client: pg.Client, onProgress: (message: string) => void): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    const { rows } = await client.query<{ taken: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS taken`)
    if (rows[0]?.taken === true) return
    if (attempt === 20) onProgress('waiting for another server that is applying migrations')
    await sleep(50)
  }
}

/** Creates the history table, unless the database contains tables of another application. */
async function prepareHistory(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ history: boolean; foreign: string | null }>(`
    SELECT to_regclass('_prisma_migrations') IS NOT NULL AS history,
           (SELECT relname FROM pg_class
             WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')
               AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = pg_class.oid AND deptype = 'e')
             LIMIT 1) AS foreign`)
  const found = rows[0]
  if (found?.history === true) return
  if (found?.foreign != null) {
    throw new MigrationError(
      `The database already holds tables (${found.foreign}) and no history of this server's ` +
        'migrations: point DATABASE_URL at an empty database.',
    )
  }
  await client.query(HISTORY_TABLE)
}

async function applyWhenFree(
  client: pg.Client,
  migration: Migration,
  onProgress: (message: string) => void,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await apply(client, migration)
    } catch (error) {
      const waits = codeOf((error as Error).cause) === LOCK_NOT_AVAILABLE
      if (!waits || attempt === LOCK_ATTEMPTS) throw error
      if (attempt === 3) onProgress(`waiting for a table that another transaction uses`)
      await sleep(LOCK_PAUSE)
    }
  }
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  const startedAt = new Date()
  try {
    if (migration.script.startsWith(OUTSIDE_TRANSACTION)) {
      // It waits without making others wait.
      await client.query('SET lock_timeout = 0')
      await client.query(migration.script)
      await client.query(`SET lock_timeout = '${LOCK_TIMEOUT}'`)
      await record(client, migration, startedAt)
      return
    }
    await client.query('BEGIN')
    const transaction = await transactionId(client)
    await client.query(migration.script)
    if ((await transactionId(client)) !== transaction)
      throw new Error('it ends its transaction itself; remove its BEGIN and COMMIT')
    await record(client, migration, startedAt)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw new MigrationError(
      `The migration ${migration.name} failed (${reasonOf(error)}): correct what it names and start again.`,
      excerptOf(migration, error),
      { cause: error },
    )
  }
}

function excerptOf({ name, script }: Migration, error: unknown): string {
  const { position } = error as { position?: string }
  if (position === undefined) return ''
  const before = script.slice(0, Number(position) - 1).split('\n')
  const line = script.split('\n')[before.length - 1]
  const column = before.at(-1)!.length
  const place = `prisma/migrations/${name}/migration.sql:${before.length}:${column + 1}`
  return `${place}\n    ${line}\n    ${' '.repeat(column)}^`
}

async function transactionId(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id')
  return rows[0]?.id ?? ''
}

async function record(client: pg.Client, { name, script }: Migration, startedAt: Date): Promise<void> {
  await client.query(
    `INSERT INTO _prisma_migrations
       (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     VALUES ($1, $2, $3, $4, clock_timestamp(), 1)`,
    [randomUUID(), checksum(script), name, startedAt],
  )
}
