// Writes a backup: the rows of one snapshot, and the blobs that they refer to. Servers may run meanwhile: the
// bytes of files that are deleted after the snapshot wait in the quarantine of the store.
import type pg from 'pg'
import { listTables, quote, readSequences, rowsOf, type Table } from '../../infra/backup/catalog.ts'
import { copyToFile } from '../../infra/backup/copy.ts'
import { BackupError } from '../../infra/backup/errors.ts'
import type { Manifest, TableFile } from '../../infra/backup/manifest.ts'
import type { Database } from '../../infra/database/database.ts'
import { version } from '../../infra/version.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { requireOwnStore } from '../storage/ownership.ts'
import { readBlobList } from './blob-list.ts'
import { inTransaction, withConnection } from './connection.ts'
import { blobsFile, excludedTables, referencedBlobs, tableFile } from './contents.ts'
import { removeOldBackups, type RemovedBackups } from './old-backups.ts'
import { copyBlobs, type CopyResult } from './copy-blobs.ts'
import { locationOf, type Backup, type BackupTarget } from './target.ts'

export interface BackupOptions {
  /** The address of PostgreSQL itself, without a pooler. */
  url: string
  database: Database
  store: BlobStore
  target: BackupTarget
  /** How many backups of the database to keep in the target, with this one. Default all. */
  keep?: number
  onProgress?: (message: string) => void
}

export interface BackupResult extends CopyResult {
  /** The place of this backup. */
  folder: string
  manifest: Manifest
  /** Null if all backups are kept. */
  removed: RemovedBackups | null
}

type Snapshot = Omit<Manifest, 'finished_at' | 'missing_blobs'>

/** @throws BackupError */
export async function writeBackup(options: BackupOptions): Promise<BackupResult> {
  const { target, keep } = options
  const release = await target.lock()
  if (release === null) throw new BackupError(`Another backup is being written to ${target.location}.`)
  try {
    // Unfinished files of backups that were killed.
    for (const name of (await target.list()).unfinished) await target.remove(name)
    const backup = { target, name: new Date().toISOString().replaceAll(/[:.]/g, '-') }
    const written = await writeTo(backup, options)
    const { database_id: id } = written.manifest
    const removed = keep === undefined ? null : await removeOldBackups(target, id, keep)
    return { ...written, removed }
  } finally {
    await release()
  }
}

/** Leaves nothing if it fails. */
async function writeTo(
  backup: Backup,
  { url, database, store, onProgress = () => {} }: BackupOptions,
): Promise<Omit<BackupResult, 'removed'>> {
  const { target, name } = backup
  await target.begin(name)
  try {
    const snapshot = await withConnection(url, 'platform backup', (client) =>
      inTransaction(client, 'ISOLATION LEVEL REPEATABLE READ READ ONLY', () =>
        copySnapshot(client, backup, onProgress),
      ),
    )
    if (snapshot.blobs.rows > 0) await requireOwnStore(database, store)
    const result = await copyBlobs(readBlobList(backup, snapshot), {
      from: store,
      to: target.blobs,
      tempFolder: target.scratchFolder(name),
      onProgress: ({ blobs }) => onProgress(`blobs: ${blobs} of ${snapshot.blobs.rows}`),
    })
    const manifest = { ...snapshot, finished_at: new Date().toISOString(), missing_blobs: result.lost }
    await target.addManifest(name, `${JSON.stringify(manifest, null, 2)}\n`)
    return { ...result, folder: locationOf(backup), manifest }
  } catch (error) {
    await target.remove(name).catch(() => {})
    throw error
  }
}

async function copySnapshot(
  client: pg.Client,
  backup: Backup,
  onProgress: (message: string) => void,
): Promise<Snapshot> {
  const identity = await readIdentity(client)
  const tables = await listTables(client, excludedTables)
  await client.query(`LOCK TABLE ${tables.map(({ name }) => quote(name)).join(', ')} IN ACCESS SHARE MODE`)
  const files: TableFile[] = []
  for (const table of tables) files.push(await copyTable(client, backup, table, onProgress))
  const { target, name } = backup
  return {
    format: 1,
    ...identity,
    version,
    sequences: await readSequences(client),
    tables: files,
    blobs: {
      file: blobsFile,
      total_bytes: await countBlobBytes(client),
      ...(await target.addFile(name, blobsFile, (path) => copyToFile(client, referencedBlobs, path))),
    },
  }
}

async function copyTable(
  client: pg.Client,
  { target, name }: Backup,
  table: Table,
  onProgress: (message: string) => void,
): Promise<TableFile> {
  const file = tableFile(table.name)
  const copied = await target.addFile(name, file, (path) => copyToFile(client, rowsOf(table), path))
  onProgress(`table ${table.name}: ${copied.rows} rows`)
  return { ...table, file, ...copied }
}

async function readIdentity(
  client: pg.Client,
): Promise<Pick<Manifest, 'id' | 'database_id' | 'created_at' | 'postgres' | 'migrations'>> {
  const migrations = await readMigrationNames(client)
  if (migrations.length === 0)
    throw new BackupError('The database is empty: set DATABASE_URL or DATA_DIR to the value of the server.')
  const { rows } = await client.query<{ database_id: string; now: Date; version: string; id: string }>(
    `SELECT database_id, now(), current_setting('server_version') AS version,
       'bak_' || replace(gen_random_uuid()::text, '-', '') AS id
     FROM database_identity`,
  )
  const [{ id, database_id, now, version }] = rows
  return { id, database_id, created_at: now.toISOString(), postgres: version, migrations }
}

/** Empty for a database without our tables. */
export async function readMigrationNames(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ exists: boolean }>(
    `SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`,
  )
  if (!rows[0].exists) return []
  const { rows: applied } = await client.query<{ name: string }>(
    `SELECT migration_name AS name FROM _prisma_migrations
     WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY 1`,
  )
  return applied.map(({ name }) => name)
}

async function countBlobBytes(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    `SELECT coalesce(sum(bytes), 0) AS bytes FROM ${referencedBlobs} AS b (key, bytes, sha256)`,
  )
  return Number(rows[0].bytes)
}
