// Checks a backup before a restore changes anything.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { hashFile } from '../../infra/backup/copy.ts'
import { BackupError } from '../../infra/backup/errors.ts'
import { listBackups, readManifest, type Manifest } from '../../infra/backup/manifest.ts'
import { readMigrations } from '../../infra/postgres/migrations.ts'
import type { BlobStore } from '../storage/blobs/blob-store.ts'
import { readBlobList } from './backup.ts'

/** @param path a backup, or the folder of all backups: then the last one. @returns the folder of a backup. */
export async function findBackup(path: string): Promise<string> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new BackupError(`There is no backup ${path}.`)
  return (await listBackups(path)).at(-1) ?? path
}

/** @throws BackupError if the backup is incomplete, damaged, or from a newer version. */
export async function checkBackup(folder: string): Promise<Manifest> {
  const manifest = await readManifest(folder)
  requireKnownMigrations(manifest)
  for (const { file, sha256 } of [...manifest.tables, manifest.jobs, manifest.blobs]) {
    const found = await hashFile(join(folder, file)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT')
        throw new BackupError(`The file ${file} of the backup ${folder} is missing.`)
      throw error
    })
    if (found !== sha256)
      throw new BackupError(`The file ${file} of the backup ${folder} is damaged: use another backup.`)
  }
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

/** @throws BackupError if the backup lacks a blob. Their bytes are compared when they are copied. */
export async function requireBlobs(folder: string, manifest: Manifest, blobs: BlobStore): Promise<void> {
  const known = new Set(manifest.missing_blobs)
  for await (const { key, bytes } of readBlobList(folder, manifest)) {
    if (known.has(key)) continue
    const found = await blobs.sizeOf(key)
    if (found !== bytes)
      throw new BackupError(
        `The blob ${key} of the backup ${folder} ` +
          `${found === null ? 'is missing' : `has ${found} bytes instead of ${bytes}`}: use another backup.`,
      )
  }
}
