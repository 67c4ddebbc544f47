// The blob store on local disk: one file per blob, in subdirectories named by the end of the key. A file is
// moved into place after its bytes are on disk, and its directory is synced before `put` resolves.
import { createReadStream } from 'node:fs'
import { link, open, opendir, rename, stat, statfs, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BlobNotFound, type BlobStore, type ListedBlob } from './blob-store.ts'
import { createDiskDocuments } from './disk-documents.ts'
import { asUnavailable, cannotHardLink, isMissing } from './disk-errors.ts'
import { createDirectory, syncDirectory } from './fsync.ts'

const pageSize = 1000

/** A disk with less free space is full for the readiness. */
const minFreeBytes = 1 << 20

export function createDiskBlobStore(directory: string): BlobStore {
  const root = join(directory, 'blobs')

  return {
    parts: null,
    location: directory,
    documents: createDiskDocuments(directory),
    async put(key, file) {
      const path = pathOf(key)
      try {
        await createDirectory(root)
        await createDirectory(dirname(path))
        // The orphan sweep deletes old blobs without a row. The bytes of a resumable upload may be old, and
        // its row comes later.
        const now = new Date()
        await utimes(file.path, now, now)
        await move(file.path, path)
        await syncDirectory(dirname(path))
      } catch (error) {
        // Two processes that move files may put the same blob: it stays.
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') await unlink(path).catch(() => {})
        throw asUnavailable(error)
      }
    },
    async read(key, range) {
      // Opened before the response starts, so a download in progress survives the deletion of its blob.
      const file = await open(pathOf(key)).catch((error) => {
        throw isMissing(error) ? new BlobNotFound(key) : asUnavailable(error)
      })
      return createReadStream('', {
        fd: file,
        start: range?.start,
        end: range?.end,
        highWaterMark: 64 * 1024,
      })
    },
    redirects: false,
    async presign() {
      throw new Error('the disk store has no URLs')
    },
    async delete(keys) {
      const deleted: string[] = []
      let error: unknown = null
      for (const key of keys) {
        const reason = await unlink(pathOf(key)).then(
          () => null,
          (reason) => (isMissing(reason) ? null : reason),
        )
        if (reason === null) deleted.push(key)
        error ??= reason
      }
      return { deleted, error }
    },
    async *list() {
      for (const shard of await namesIn(root)) {
        let page: ListedBlob[] = []
        for (const key of await namesIn(join(root, shard))) {
          const found = await stat(join(root, shard, key)).catch(() => null)
          if (found?.isFile() !== true) continue
          page.push({ key, bytes: found.size, modifiedAt: found.mtime })
          if (page.length === pageSize) {
            yield page
            page = []
          }
        }
        if (page.length > 0) yield page
      }
    },
    async sizeOf(key) {
      return await stat(pathOf(key)).then(
        ({ size }) => size,
        (error) => {
          if (isMissing(error)) return null
          throw asUnavailable(error)
        },
      )
    },
    async deleteIncompletePuts() {},
    async ping() {
      await createDirectory(root)
      await stat(root)
      const { bavail, bsize } = await statfs(root)
      if (bavail * bsize < minFreeBytes) throw new Error('the disk of the files is full')
    },
    async close() {},
  }

  function pathOf(key: string): string {
    // Keys are generated ids: no client input becomes part of a path. This check guards against mistakes.
    if (!/^[a-z0-9_-]{4,100}$/.test(key)) throw new Error(`invalid blob key: ${key}`)
    return join(root, key.replace(/-\d+$/, '').slice(-2), key)
  }
}

async function move(from: string, to: string): Promise<void> {
  await link(from, to).then(
    () => unlink(from),
    async (error: NodeJS.ErrnoException) => {
      if (!cannotHardLink(error)) throw error
      // Unlike link, rename would overwrite an existing file. Keys are never reused, so there is none.
      await rename(from, to)
    },
  )
}

async function namesIn(directory: string): Promise<string[]> {
  const names: string[] = []
  try {
    for await (const entry of await opendir(directory)) names.push(entry.name)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return names
}
