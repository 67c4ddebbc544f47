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
import { addCounts } from '../../infra/backup/row-digest.ts'
import { inTransaction } from './connection.ts'
import { readMigrationNames } from './backup.ts'
import { excludedTables } from './contents.ts'
import { readFileOf, type Backup } from './target.ts'

/** What a database has that a backup may go to. */
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

/** The tables are those of the backup's migrations. */
export async function loadDatabase(
  client: pg.Client,
  backup: Backup,
  manifest: Manifest,
  onProgress: (message: string) => void,
): Promise<void> {
  const tables = await listTables(client, excludedTables)
  const files = filesByTable(tables, manifest.tables)
  await inTransaction(client, '', async () => {
    const names = [...tables.map(({ name }) => quote(name)), 'restored_copy']
    await client.query(`LOCK TABLE ${names.join(', ')} IN ACCESS EXCLUSIVE MODE`)
    await requireNoUsers(client)
    await withoutConstraints(client, tables, async () => {
      await client.query(`TRUNCATE ${names.join(', ')}`)
      for (const table of tables) await loadTable(client, backup, table, files.get(table)!, onProgress)
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
  table: Table,
  files: TableFile[],
  onProgress: (message: string) => void,
): Promise<void> {
  const expected = addCounts(files)
  for (const file of files)
    await copyFromFile(client, columnsOf({ ...file, name: table.name }), await readFileOf(backup, file.file))
  const { rows, digest } = await countRows(client, rowsOf({ ...files[0], name: table.name }))
  if (rows !== expected.rows || digest !== expected.digest)
    throw new BackupError(
      `The table ${table.name} has ${rows} rows in the database that differ from the ${expected.rows} of ` +
        'the backup.',
    )
  onProgress(`table ${table.name}: ${rows} rows`)
}

/** A server that started meanwhile has created its first user. */
async function requireNoUsers(client: pg.Client): Promise<void> {
  const { rows } = await client.query('SELECT FROM users LIMIT 1')
  if (rows.length > 0)
    throw new BackupError(
      'A server has begun to use the database during the restore: empty it and begin again.',
    )
}

/**
 * The files of each table. Version 1.10.0 knows no partitions: its backup of a database that was upgraded has
 * a file for each partition, whose name begins with the table's.
 */
function filesByTable(tables: Table[], files: TableFile[]): Map<Table, TableFile[]> {
  const shape = ({ columns }: Table): string => JSON.stringify([...columns].sort())
  const tableOf = (file: TableFile): Table | undefined =>
    tables.find(({ name }) => name === file.name) ??
    tables.find((table) => file.name.startsWith(`${table.name}_`) && shape(table) === shape(file))
  const found = Map.groupBy(files, tableOf)
  const isComplete = tables.every((table) => found.get(table)?.every((file) => shape(file) === shape(table)))
  if (isComplete && !found.has(undefined)) return found as Map<Table, TableFile[]>
  throw new BackupError(
    'The database has other tables or columns than the backup: restore into an empty database.',
  )
}

/** The bytes of unfinished uploads are not in a backup. Their clients begin again. */
async function discardUnfinishedUploads(client: pg.Client): Promise<void> {
  await client.query('DELETE FROM uploads WHERE file_id IS NULL')
  await client.query('DELETE FROM storage_reservations')
}
