// Removes old backups, and the blobs that none of the others needs.
import { isBlobKey } from '../storage/blobs/blob-store.ts'
import { readBlobList } from './blob-list.ts'
import { readManifest, type BackupTarget } from './target.ts'

export interface RemovedBackups {
  backups: number
  blobs: number
  bytes: number
}

/** Keeps the last backups of a database, and all of others. The caller holds the lock of the target. */
export async function removeOldBackups(
  target: BackupTarget,
  databaseId: string,
  keep: number,
): Promise<RemovedBackups> {
  const own: string[] = []
  for (const name of (await target.list()).complete)
    if ((await readManifest({ target, name })).database_id === databaseId) own.push(name)
  const old = own.slice(0, -keep)
  for (const name of old) await target.remove(name)
  return { backups: old.length, ...(await removeUnusedBlobs(target)) }
}

async function removeUnusedBlobs(target: BackupTarget): Promise<Omit<RemovedBackups, 'backups'>> {
  const needed = await neededBlobs(target)
  const removed = { blobs: 0, bytes: 0 }
  for await (const page of target.blobs.list()) {
    const unused = page.filter(({ key }) => isBlobKey(key) && !needed.has(key))
    const { deleted, error } = await target.blobs.delete(unused.map(({ key }) => key))
    if (error !== null) throw error
    removed.blobs += deleted.length
    removed.bytes += unused.reduce((sum, { bytes }) => sum + bytes, 0)
  }
  return removed
}

async function neededBlobs(target: BackupTarget): Promise<Set<string>> {
  const keys = new Set<string>()
  for (const name of (await target.list()).complete) {
    const backup = { target, name }
    for await (const { key } of readBlobList(backup, await readManifest(backup))) keys.add(key)
  }
  return keys
}
