// Restores a backup into an empty database and an empty file store. The files come first and the rows last,
// in one transaction, so an interrupted restore leaves an empty database and can be run again.
import { join } from 'node:path'
import { BackupError } from '../../infra/backup/errors.ts'
import type { Manifest } from '../../infra/backup/manifest.ts'
import { openDatabase } from '../../infra/database/database.ts'
import { applyMigrations } from '../../infra/postgres/migrations.ts'
import { isBlobKey, type BlobStore } from '../storage/blobs/blob-store.ts'
import { markRestoring, readMarker } from '../storage/ownership.ts'
import { verifyStore, type Difference, type Verification } from '../storage/verify.ts'
import { conversionOf, isBeforeBaseline, withBaseline } from './before-baseline.ts'
import { readBlobList } from './blob-list.ts'
import { checkBackup, requireBlobs } from './check-backup.ts'
import { withConnection } from './connection.ts'
import { copyBlobs } from './copy-blobs.ts'
import {
  loadDatabase,
  readDatabaseState,
  requireNoServers,
  type DatabaseState,
  type LoadOptions,
} from './load-database.ts'
import { locationOf, type Backup } from './target.ts'

export interface RestoreOptions {
  backup: Backup
  /** The address of PostgreSQL itself, without a pooler. */
  url: string
  store: BlobStore
  /** The folder for blobs on their way. */
  tempFolder: string
  /** Whether the store may have blobs already, because it has survived the database. */
  keepFiles?: boolean
  onProgress?: (message: string) => void
  onDifference?: (difference: Difference) => void
}

export interface RestoreResult {
  folder: string
  manifest: Manifest
  verification: Verification
}

/** @throws BackupError, MigrationError and StoreOwnershipError */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { backup, url, store, onProgress = () => {}, onDifference } = options
  const folder = locationOf(backup)
  onProgress(`checking ${folder}`)
  const checked = await checkBackup(backup)
  const isOld = isBeforeBaseline(checked)
  const manifest = isOld ? withBaseline(checked) : checked
  const state = await requireTarget(options, manifest)
  if (options.keepFiles !== true) await requireBlobs(backup, manifest)
  await markRestoring(store, manifest.database_id, manifest.id)
  await restoreBlobs(options, manifest)
  if (state === 'empty') await restoreRows(options, manifest, isOld ? conversionOf(backup, manifest) : {})
  await applyMigrations(url, onProgress)
  const database = openDatabase({ url, name: 'platform restore', poolSize: 2, statementTimeout: 600_000 })
  try {
    onProgress('comparing the database with the file store')
    const verification = await verifyStore(database, store, { onDifference })
    await markRestoring(store, manifest.database_id, null)
    return { folder, manifest, verification }
  } finally {
    await database.close()
  }
}

/** @throws BackupError unless the database and the store are empty, or those of an interrupted restore. */
async function requireTarget(options: RestoreOptions, manifest: Manifest): Promise<DatabaseState> {
  const marker = await readMarker(options.store)
  const isResumed = marker?.restoring === manifest.id
  const state = await withConnection(options.url, 'platform restore', async (client) => {
    const found = await readDatabaseState(client, manifest.id)
    if (found === 'empty') await requireNoServers(client)
    return found
  })
  if (state === 'filled' || (state === 'restored' && !isResumed))
    throw new BackupError('The database is not empty: restore into a new database, or a new DATA_DIR.')
  await requireStore(options, manifest, isResumed)
  return state
}

async function requireStore(
  { store, keepFiles }: RestoreOptions,
  { database_id }: Manifest,
  isResumed: boolean,
): Promise<void> {
  const marker = await readMarker(store)
  if (marker !== null && marker.database_id !== database_id)
    throw new BackupError(
      `The file store ${store.location} belongs to the database ${marker.database_id}: restore into an ` +
        'empty STORAGE_DIR or S3_BUCKET.',
    )
  if (isResumed || keepFiles === true) return
  for await (const page of store.list())
    if (page.some(({ key }) => isBlobKey(key)))
      throw new BackupError(
        `The file store ${store.location} is not empty: restore into an empty STORAGE_DIR or S3_BUCKET, or ` +
          'use --keep-files if the store has survived and no other server uses it.',
      )
}

async function restoreBlobs(
  { backup, store, tempFolder, onProgress = () => {} }: RestoreOptions,
  manifest: Manifest,
): Promise<void> {
  const { lost } = await copyBlobs(readBlobList(backup, manifest), {
    from: backup.target.blobs,
    to: store,
    tempFolder: join(tempFolder, 'restore'),
    onProgress: (done) => onProgress(`blobs: ${done.blobs} of ${manifest.blobs.rows}`),
  })
  const known = new Set(manifest.missing_blobs)
  const damaged = lost.filter((key) => !known.has(key))
  if (damaged.length > 0)
    throw new BackupError(
      `The backup ${locationOf(backup)} has ${damaged.length} damaged blobs, the first of them ` +
        `${damaged[0]}: use another backup.`,
    )
}

async function restoreRows(
  { backup, url, onProgress = () => {} }: RestoreOptions,
  manifest: Manifest,
  conversion: Omit<LoadOptions, 'onProgress'>,
): Promise<void> {
  await applyMigrations(url, () => {}, { only: manifest.migrations })
  await withConnection(url, 'platform restore', async (client) => {
    await requireNoServers(client)
    await loadDatabase(client, backup, manifest, { onProgress, ...conversion })
  })
}
