// Blobs as files of a folder, spread over subfolders by the end of their key. A blob is moved into its place when its bytes
// are on the disk, and its folder is synced before anybody hears of it.
import { createReadStream } from 'node:fs'
import { link, open, opendir, rename, stat, unlink, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { unavailable } from '../../../infra/errors.ts'
import { BlobMissing, type Blobs } from './blob-store.ts'
import { makeFolder, syncFolder } from './fsync.ts'

const pageSize = 1000

export function createDiskBlobs(folder: string): Blobs {
  const root = join(folder, 'blobs')

  return {
    async put(key, received) {
      const place = placeOf(key)
      try {
        await makeFolder(root)
        await makeFolder(dirname(place))
        // A resumable upload may be old when it is whole; its row comes only now, and the sweep must wait for it.
        const now = new Date()
        await utimes(received.path, now, now)
        await move(received.path, place)
        await syncFolder(dirname(place))
      } catch (error) {
        await unlink(place).catch(() => {})
        throw asUnavailable(error)
      }
    },
    async read(key, range) {
      // Opened before anything is answered; from then on the bytes are there even if the blob is removed.
      const file = await open(placeOf(key)).catch((error) => {
        throw isMissing(error) ? new BlobMissing(key) : asUnavailable(error)
      })
      return createReadStream('', {
        fd: file,
        start: range?.start,
        end: range?.end,
        highWaterMark: 128 * 1024,
      })
    },
    redirects: false,
    async presign() {
      throw new Error('a disk has no addresses')
    },
    async remove(keys) {
      const gone: string[] = []
      let error: unknown = null
      for (const key of keys) {
        const reason = await unlink(placeOf(key)).then(
          () => null,
          (reason) => (isMissing(reason) ? null : reason),
        )
        if (reason === null) gone.push(key)
        error ??= reason
      }
      return { gone, error }
    },
    async *list() {
      for (const shard of await names(root)) {
        let page: Array<{ key: string; modifiedAt: Date }> = []
        for (const key of await names(join(root, shard))) {
          const found = await stat(join(root, shard, key)).catch(() => null)
          if (found?.isFile() !== true) continue
          page.push({ key, modifiedAt: found.mtime })
          if (page.length === pageSize) {
            yield page
            page = []
          }
        }
        if (page.length > 0) yield page
      }
    },
    async tidy() {},
    async ping() {
      await makeFolder(root)
      await stat(root)
    },
    async close() {},
  }

  function placeOf(key: string): string {
    // Keys are ids of ours: nothing that a client says ever names a file.
    if (!/^[a-z0-9_-]{4,100}$/.test(key)) throw new Error(`not a key: ${key}`)
    return join(root, key.replace(/-\d+$/, '').slice(-2), key)
  }
}

async function move(from: string, to: string): Promise<void> {
  await link(from, to).then(
    () => unlink(from),
    async (error: NodeJS.ErrnoException) => {
      // A key is never used twice, so that nothing is overwritten either way.
      if (!hasNoLinks(error)) throw error
      await rename(from, to)
    },
  )
}

/** Whether a hard link failed because there are none, or none from here to there. */
export function hasNoLinks(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPERM' || error.code === 'ENOTSUP' || error.code === 'EXDEV'
}

async function names(folder: string): Promise<string[]> {
  const found: string[] = []
  try {
    for await (const entry of await opendir(folder)) found.push(entry.name)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return found
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

const diskErrors = new Set([
  'EIO',
  'EROFS',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
  'ENOENT',
  'ENOTDIR',
  'EBUSY',
  'ESTALE',
  'ENODEV',
])

/** What goes wrong with a disk that is full or broken is for another time. */
export function asUnavailable(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return Object.assign(unavailable('There is no room for files at the moment.', 60), { cause: error })
  if (code !== undefined && diskErrors.has(code))
    return Object.assign(unavailable('The store of files is out of reach; try again.'), { cause: error })
  return error
}
