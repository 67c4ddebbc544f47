// Writes a backup: the rows of one snapshot, and the blobs that they refer to. Servers may run meanwhile: the
// bytes of files that are deleted after the snapshot wait in the quarantine of the store.
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { columnsOf, listTables, quote, readSequences, type Table } from '../../infra/backup/catalog.ts'
import { copyToFile, readRows } from '../../infra/backup/copy.ts'
import { BackupError } from '../../infra/backup/errors.ts'
import { listBackups, writeManifest, type Manifest, type TableFile } from '../../infra/backup/manifest.ts'
import type { Database } from '../../infra/database/database.ts'
import { copyJobsToFile } from '../../infra/jobs/job-copies.ts'
import { lockFolder } from '../../infra/postgres/lock.ts'
import { version } from '../../infra/version.ts'
import { createDiskBlobStore } from '../storage/blobs/disk.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { createDirectory, syncDirectory } from '../storage/blobs/fsync.ts'
import { requireOwnStore } from '../storage/ownership.ts'
import { inTransaction, withConnection } from './connection.ts'
import {
  blobsFile,
  excludedTables,
  firstMigration,
  jobsFile,
  referencedBlobs,
  tableFile,
} from './contents.ts'
import { removeOldBackups, type RemovedBackups } from './old-backups.ts'
import { copyBlobs, type CopyResult, type ExpectedBlob } from './copy-blobs.ts'

export interface BackupOptions {
  /** The address of PostgreSQL itself, without a pooler. */
  url: string
  database: Database
  store: BlobStore
  /** The folder of all backups. */
  target: string
  /** How many backups to keep in the folder, with this one. Default all. */
  keep?: number
  onProgress?: (message: string) => void
}

export interface BackupResult extends CopyResult {
  /** The folder of this backup. */
  folder: string
  manifest: Manifest
  /** Null if all backups are kept. */
  removed: RemovedBackups | null
}

type Snapshot = Omit<Manifest, 'finished_at' | 'missing_blobs'>

const unfinished = '.unfinished'

/** @throws BackupError */
export async function writeBackup(options: BackupOptions): Promise<BackupResult> {
  const { target, keep } = options
  await createDirectory(target)
  const release = lockFolder(target)
  if (release === null) throw new BackupError(`Another backup is being written to ${target}.`)
  try {
    await removeUnfinished(target)
    const folder = join(target, new Date().toISOString().replaceAll(/[:.]/g, '-'))
    const written = await writeTo(folder, options)
    const removed = keep === undefined ? null : await removeOldBackups(target, keep)
    return { ...written, removed }
  } finally {
    release()
  }
}

/** Leaves no folder if it fails. */
async function writeTo(
  folder: string,
  { target, url, database, store, onProgress = () => {} }: BackupOptions,
): Promise<Omit<BackupResult, 'removed'>> {
  const tempFolder = join(folder, unfinished)
  await mkdir(folder, { mode: 0o700 })
  try {
    const snapshot = await withConnection(url, 'platform backup', (client) =>
      inTransaction(client, 'ISOLATION LEVEL REPEATABLE READ READ ONLY', () =>
        copySnapshot(client, folder, onProgress),
      ),
    )
    if (snapshot.blobs.rows > 0) await requireOwnStore(database, store)
    const result = await copyBlobs(readBlobList(folder, snapshot), {
      from: store,
      to: createDiskBlobStore(target),
      tempFolder,
      onProgress: ({ blobs }) => onProgress(`blobs: ${blobs} of ${snapshot.blobs.rows}`),
    })
    const finished_at = new Date().toISOString()
    const manifest = { ...snapshot, finished_at, missing_blobs: result.lost }
    await syncDirectory(folder)
    await writeManifest(folder, manifest)
    await syncDirectory(folder)
    await syncDirectory(target)
    return { ...result, folder, manifest }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** The blobs of a backup. */
export async function* readBlobList(
  folder: string,
  { blobs }: Pick<Manifest, 'blobs'>,
): AsyncGenerator<ExpectedBlob> {
  for await (const [key, bytes, sha256] of readRows(join(folder, blobs.file)))
    yield { key, bytes: Number(bytes), sha256 }
}

async function copySnapshot(
  client: pg.Client,
  folder: string,
  onProgress: (message: string) => void,
): Promise<Snapshot> {
  const identity = await readIdentity(client)
  const tables = await listTables(client, excludedTables)
  await client.query(`LOCK TABLE ${tables.map(({ name }) => quote(name)).join(', ')} IN ACCESS SHARE MODE`)
  const files: TableFile[] = []
  for (const table of tables) files.push(await copyTable(client, folder, table, onProgress))
  const [jobs, blobs] = [join(folder, jobsFile), join(folder, blobsFile)]
  return {
    format: 1,
    ...identity,
    version,
    sequences: await readSequences(client),
    tables: files,
    jobs: { file: jobsFile, ...(await copyJobsToFile(client, jobs)) },
    blobs: {
      file: blobsFile,
      total_bytes: await countBlobBytes(client),
      ...(await copyToFile(client, referencedBlobs, blobs)),
    },
  }
}

async function copyTable(
  client: pg.Client,
  folder: string,
  table: Table,
  onProgress: (message: string) => void,
): Promise<TableFile> {
  const file = tableFile(table.name)
  const copied = await copyToFile(client, columnsOf(table), join(folder, file))
  onProgress(`table ${table.name}: ${copied.rows} rows`)
  return { ...table, file, ...copied }
}

async function readIdentity(
  client: pg.Client,
): Promise<Pick<Manifest, 'id' | 'database_id' | 'created_at' | 'postgres' | 'migrations'>> {
  const migrations = await readMigrationNames(client)
  if (!migrations.includes(firstMigration))
    throw new BackupError(
      migrations.length === 0
        ? 'The database is empty: set DATABASE_URL or DATA_DIR to the value of the server.'
        : `The database lacks the migration ${firstMigration}: run \`npm run migrate\` before the backup.`,
    )
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

/** Removes what killed backups have left. */
async function removeUnfinished(target: string): Promise<void> {
  const complete = new Set(await listBackups(target))
  for (const entry of await readdir(target, { withFileTypes: true })) {
    const folder = join(target, entry.name)
    const isBackup = entry.isDirectory() && /^\d{4}-\d\d-\d\dT[\d-]+Z$/.test(entry.name)
    if (isBackup && !complete.has(folder)) await rm(folder, { recursive: true, force: true })
  }
}
