// Checks a backup, also before a restore changes anything.
import { hashFile } from '../../infra/backup/copy.ts'
import { BackupError } from '../../infra/backup/errors.ts'
import type { Manifest } from '../../infra/backup/manifest.ts'
import { readMigrations } from '../../infra/postgres/migrations.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { isBeforeBaseline } from './before-baseline.ts'
import { readBlobList } from './blob-list.ts'
import { forEachBlob, type ExpectedBlob } from './copy-blobs.ts'
import { locationOf, readFileOf, readManifest, type Backup } from './target.ts'

/** @throws BackupError if the backup is incomplete, damaged, or from a newer version. */
export async function checkBackup(backup: Backup): Promise<Manifest> {
  const manifest = await readManifest(backup)
  if (!isBeforeBaseline(manifest)) requireKnownMigrations(manifest)
  for (const { file, sha256 } of [...manifest.tables, manifest.blobs])
    if ((await hashFile(await readFileOf(backup, file))) !== sha256)
      throw new BackupError(
        `The file ${file} of the backup ${locationOf(backup)} is damaged: use another backup.`,
      )
  return manifest
}

function requireKnownMigrations({ migrations, version }: Manifest): void {
  const known = new Set(readMigrations().map(({ name }) => name))
  const unknown = migrations.find((name) => !known.has(name))
  if (unknown !== undefined)
    throw new BackupError(
      `The backup has the migration ${unknown}, which this version does not know: restore it with version ` +
        `${version} or later.`,
    )
}

export interface CheckBlobsOptions {
  /** Whether to read every blob and compare its SHA-256. */
  hash?: boolean
  onProgress?: (message: string) => void
}

/** @throws BackupError if the backup lacks a blob that it should have. */
export async function requireBlobs(
  backup: Backup,
  manifest: Manifest,
  { hash = false, onProgress = () => {} }: CheckBlobsOptions = {},
): Promise<void> {
  const known = new Set(manifest.missing_blobs)
  let checked = 0
  await forEachBlob(readBlobList(backup, manifest), async (blob) => {
    onProgress(`blobs: ${++checked} of ${manifest.blobs.rows}`)
    const problem = known.has(blob.key) ? null : await problemOf(blob, backup.target.blobs, hash)
    if (problem !== null)
      throw new BackupError(
        `The blob ${blob.key} of the backup ${locationOf(backup)} ${problem}: use another backup.`,
      )
  })
}

async function problemOf(
  { key, bytes, sha256 }: ExpectedBlob,
  blobs: BlobStore,
  hash: boolean,
): Promise<string | null> {
  const found = await blobs.sizeOf(key)
  if (found === null) return 'is missing'
  if (found !== bytes) return `has ${found} bytes instead of ${bytes}`
  return hash && (await hashFile(await blobs.read(key))) !== sha256 ? 'is damaged' : null
}
