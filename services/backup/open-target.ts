// Opens the place of backups that an operator names.
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { BackupError } from '../../infra/backup/errors.ts'
import { readBackupS3 } from '../../infra/config/config.ts'
import { createFolderTarget } from './folder-target.ts'
import { readManifest, type Backup, type BackupTarget } from './target.ts'

export interface OpenTargetOptions {
  /** A folder for files on their way to and from a bucket. */
  scratchFolder: string
}

/** @param address a folder, or `s3://bucket/prefix`. */
export async function openTarget(
  address: string,
  { scratchFolder }: OpenTargetOptions,
): Promise<BackupTarget> {
  const found = /^s3:\/\/([^/]+)\/?(.*?)\/*$/.exec(address)
  if (found === null) return createFolderTarget(resolve(address))
  const [, bucket, prefix] = found
  if (prefix === '') throw new BackupError(`${address} needs a prefix, such as s3://${bucket}/backups.`)
  // Imported on demand, because the AWS SDK is slow to load.
  const { createBucketTarget } = await import('./bucket-target.ts')
  return createBucketTarget(readBackupS3(bucket), prefix, scratchFolder)
}

/** @param address a backup, or the place of all backups: then the last one. The caller closes the target. */
export async function openBackup(address: string, options: OpenTargetOptions): Promise<Backup> {
  const all = await openTarget(address, options)
  const { complete } = await all.list()
  const last = complete.at(-1)
  if (last !== undefined && (await databasesOf(all, complete.slice(-recent))) < 2)
    return { target: all, name: last }
  await all.close()
  if (last !== undefined)
    throw new BackupError(
      `${address} has backups of several databases: name one, such as ${address}/${last}.`,
    )
  const path = address.replace(/\/+$/, '')
  const name = path.split('/').at(-1)!
  if (!(await exists(path))) throw new BackupError(`There is no backup ${address}.`)
  const parent = path.startsWith('s3://') ? path.slice(0, -name.length - 1) : dirname(resolve(path))
  return { target: await openTarget(parent, options), name }
}

/** The backups that show whose they are: a place may have thousands. */
const recent = 100

/** The number of databases that the backups are of. A damaged backup does not count. */
async function databasesOf(target: BackupTarget, names: string[]): Promise<number> {
  const ids = new Set<string>()
  for (const name of names) {
    try {
      ids.add((await readManifest({ target, name })).database_id)
    } catch (error) {
      if (!(error instanceof BackupError)) throw error
    }
  }
  return ids.size
}

/** Whether the path may be a backup. A path in a bucket always may: its manifest is read later. */
async function exists(path: string): Promise<boolean> {
  if (path.startsWith('s3://')) return true
  return await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
