// Opens the database of DATABASE_URL, or the embedded one, for a command.
import type { Config } from '../../infra/config/config.ts'
import { openDatabase, type Database } from '../../infra/database/database.ts'
import { startEmbedded } from '../../infra/postgres/embedded.ts'
import { prepareDatabase } from '../../infra/prepare-database.ts'
import { jobQueues } from '../../services/services.ts'

export interface WithDatabaseOptions {
  /** Milliseconds that a statement may take. */
  statementTimeout?: number
  /** Called with the names of the migrations that were applied. */
  onPrepared?: (applied: string[]) => void
}

/** Applies the migrations, runs the work, and closes the database. A server may be running or not. */
export async function withDatabase(
  { databaseUrl, databaseDirectUrl, dataDir }: Readonly<Config>,
  { statementTimeout, onPrepared }: WithDatabaseOptions,
  work: (db: Database) => Promise<void>,
): Promise<void> {
  const postgres = databaseUrl === null ? await startEmbedded({ dataDir, whenRunning: 'attach' }) : null
  try {
    const url = databaseDirectUrl ?? databaseUrl ?? postgres!.url
    const applied = await prepareDatabase(url, { queues: jobQueues })
    onPrepared?.(applied)
    const db = openDatabase({ url, poolSize: 2, statementTimeout })
    try {
      await work(db)
    } finally {
      await db.close()
    }
  } finally {
    await postgres?.stop()
  }
}
