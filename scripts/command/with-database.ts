// Opens the database of DATABASE_URL, or the embedded one, for a command.
import { existsSync } from 'node:fs'
import type { Config } from '../../infra/config/config.ts'
import { openDatabase, type Database } from '../../infra/database/database.ts'
import { clusterFolder } from '../../infra/postgres/cluster.ts'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { prepareDatabase } from '../../infra/prepare-database.ts'
import { CommandError } from './run-command.ts'

export interface WithPostgresOptions {
  /** Attaches to an embedded database that a server runs, or refuses it. Default: attach. */
  whenRunning?: 'attach' | 'refuse'
  /** Whether an embedded database that does not exist yet is an error. */
  mustExist?: boolean
  onProgress?: (message: string) => void
}

/** Runs the work with the address of PostgreSQL itself, without a pooler. */
export async function withPostgres<T>(
  { databaseUrl, databaseDirectUrl, dataDir }: Readonly<Config>,
  { whenRunning = 'attach', mustExist = false, onProgress }: WithPostgresOptions,
  work: (url: string) => Promise<T>,
): Promise<T> {
  const external = databaseDirectUrl ?? databaseUrl
  if (external !== null) return await work(external)
  if (mustExist && !existsSync(clusterFolder(dataDir)))
    throw new CommandError(`There is no database in DATA_DIR ${dataDir}: set DATA_DIR to that of the server.`)
  const postgres = await startEmbedded({ dataDir, whenRunning, onProgress })
  try {
    return await work(postgres.url)
  } finally {
    await postgres.stop()
  }
}

export interface WithDatabaseOptions {
  /** Milliseconds that a statement may take. */
  statementTimeout?: number
  /** Called with the names of the migrations that were applied. */
  onPrepared?: (applied: string[]) => void
}

/** Applies the migrations, runs the work, and closes the database. A server may be running or not. */
export async function withDatabase(
  config: Readonly<Config>,
  { statementTimeout, onPrepared }: WithDatabaseOptions,
  work: (db: Database) => Promise<void>,
): Promise<void> {
  await withPostgres(config, {}, async (url) => {
    const applied = await prepareDatabase(url)
    onPrepared?.(applied)
    const db = openDatabase({ url, poolSize: 2, statementTimeout })
    try {
      await work(db)
    } finally {
      await db.close()
    }
  })
}
