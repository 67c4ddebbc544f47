// Removes old backups, and the blobs that none of the others needs.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readRows } from '../../infra/backup/copy.ts'
import { listBackups, manifestFile, readManifest } from '../../infra/backup/manifest.ts'
import { createDiskBlobStore } from '../storage/blobs/disk.ts'
import { isBlobKey } from '../storage/blobs/blob-store.ts'
import { syncDirectory } from '../storage/blobs/fsync.ts'

export interface RemovedBackups {
  backups: number
  blobs: number
  bytes: number
}

/** Keeps the last backups of a folder. The caller holds the lock of the folder. */
export async function removeOldBackups(target: string, keep: number): Promise<RemovedBackups> {
  const old = (await listBackups(target)).slice(0, -keep)
  for (const folder of old) {
    // Without its manifest it is no backup any more, even if this process is killed now.
    await rm(join(folder, manifestFile))
    await syncDirectory(folder)
    await rm(folder, { recursive: true, force: true })
  }
  return { backups: old.length, ...(await removeUnusedBlobs(target)) }
}

async function removeUnusedBlobs(target: string): Promise<Omit<RemovedBackups, 'backups'>> {
  const store = createDiskBlobStore(target)
  const needed = await neededBlobs(target)
  const removed = { blobs: 0, bytes: 0 }
  for await (const page of store.list()) {
    const unused = page.filter(({ key }) => isBlobKey(key) && !needed.has(key))
    const { deleted, error } = await store.delete(unused.map(({ key }) => key))
    if (error !== null) throw error
    removed.blobs += deleted.length
    removed.bytes += unused.reduce((sum, { bytes }) => sum + bytes, 0)
  }
  return removed
}

async function neededBlobs(target: string): Promise<Set<string>> {
  const keys = new Set<string>()
  for (const folder of await listBackups(target)) {
    const { blobs } = await readManifest(folder)
    for await (const [key] of readRows(join(folder, blobs.file))) keys.add(key)
  }
  return keys
}
