// Loads the rows of a backup into an empty database, in one transaction, and compares them with the backup.
// The role needs no more rights than the owner of the database has.
import type pg from 'pg'
import {
  columnsOf,
  listTables,
  quote,
  rowsOf,
  setSequences,
  withoutConstraints,
  type Table,
} from '../../infra/backup/catalog.ts'
import { copyFromFile, countRows } from '../../infra/backup/copy.ts'
import { BackupError } from '../../infra/backup/errors.ts'
import type { Manifest, TableFile } from '../../infra/backup/manifest.ts'
import { inTransaction } from './connection.ts'
import { readMigrationNames } from './backup.ts'
import { excludedTables } from './contents.ts'
import { readFileOf, type Backup } from './target.ts'

/** The state of a database that a backup is restored to. */
export type DatabaseState = 'empty' | 'restored' | 'filled'

/** Restored: from this backup, by a restore that may not have ended. */
export async function readDatabaseState(client: pg.Client, backupId: string): Promise<DatabaseState> {
  if ((await readMigrationNames(client)).length === 0) return 'empty'
  const { rows } = await client.query<{ users: boolean; copies: string | null }>(
    `SELECT EXISTS (SELECT FROM users) AS users, to_regclass('restored_copy')::text AS copies`,
  )
  const [{ users, copies }] = rows
  if (copies !== null) {
    const { rows: restored } = await client.query('SELECT FROM restored_copy WHERE backup_id = $1', [
      backupId,
    ])
    if (restored.length > 0) return 'restored'
  }
  return users ? 'filled' : 'empty'
}

/** @throws BackupError while servers or workers are connected. */
export async function requireNoServers(client: pg.Client): Promise<void> {
  const { rows } = await client.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
       AND application_name LIKE 'platform%' AND application_name <> 'platform restore' LIMIT 1`,
  )
  if (rows.length > 0)
    throw new BackupError('Servers or workers are connected to the database: stop them before the restore.')
}

export interface LoadOptions {
  onProgress: (message: string) => void
  /** Tables that the backup has in another form. */
  besides?: string[]
  /** Changes the loaded rows, and loads these tables. */
  convert?: (client: pg.Client) => Promise<void>
}

/** The tables are those of the backup's migrations. */
export async function loadDatabase(
  client: pg.Client,
  backup: Backup,
  manifest: Manifest,
  { onProgress, besides = [], convert }: LoadOptions,
): Promise<void> {
  const tables = await listTables(client, [...excludedTables, ...besides])
  requireTables(tables, manifest.tables)
  await inTransaction(client, '', async () => {
    const names = [...tables.map(({ name }) => quote(name)), 'restored_copy']
    await client.query(`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`)
    await requireNoUsers(client)
    await withoutConstraints(client, tables, async () => {
      await client.query(`TRUNCATE ${names.join(', ')}`)
      for (const file of manifest.tables) await loadTable(client, backup, file, onProgress)
      await convert?.(client)
    })
    await setSequences(client, manifest.sequences)
    await discardUnfinishedUploads(client)
    await client.query('INSERT INTO restored_copy (backup_id, backup_created_at) VALUES ($1, $2)', [
      manifest.id,
      manifest.created_at,
    ])
  })
  await client.query('ANALYZE')
}

async function loadTable(
  client: pg.Client,
  backup: Backup,
  file: TableFile,
  onProgress: (message: string) => void,
): Promise<void> {
  await copyFromFile(client, columnsOf(file), await readFileOf(backup, file.file))
  const { rows, digest } = await countRows(client, rowsOf(file))
  if (rows !== file.rows || digest !== file.digest)
    throw new BackupError(
      `The table ${file.name} has ${rows} rows in the database that differ from the ${file.rows} of the ` +
        'backup.',
    )
  onProgress(`table ${file.name}: ${rows} rows`)
}

/** A server that started meanwhile has created its first user. */
async function requireNoUsers(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SELECT FROM users LIMIT 1')
  if (rows.length > 0)
    throw new BackupError(
      'A server has begun to use the database during the restore: empty it and begin again.',
    )
}

/** @throws BackupError unless the backup has a file for each table, with its columns. */
function requireTables(tables: Table[], files: TableFile[]): void {
  const shapes = (of: Table[]): string =>
    JSON.stringify(of.map(({ name, columns }) => [name, [...columns].sort()]).sort())
  if (shapes(tables) !== shapes(files))
    throw new BackupError(
      'The database has other tables or columns than the backup: restore into an empty database.',
    )
}

/** The bytes of unfinished uploads are not in a backup. Their clients begin again. */
async function discardUnfinishedUploads(client: pg.Client): Promise<void> {
  await client.query('DELETE FROM uploads WHERE file_id IS NULL')
  await client.query('DELETE FROM storage_reservations')
}
