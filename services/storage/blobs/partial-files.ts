// Where the bytes of unfinished uploads are: a file each on the disk of this server, also where blobs are in S3, because what
// comes in pieces of any size, with a checksum or cut off in the middle, has to be put together, and taken back, somewhere.
// So all requests of one upload have to come to servers with the same STORAGE_DIR.
import { createHash, randomUUID } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { copyFile, link, open, opendir, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { unavailable } from '../../../infra/errors.ts'
import type { Received } from './blob-store.ts'
import { contentTypeOf, sampleBytes } from '../content-type.ts'
import { asUnavailable, hasNoLinks } from './disk.ts'
import { makeFolder, syncFolder } from './fsync.ts'

export interface Whole extends Received {
  /** The media type that the bytes have. */
  contentType: string
  /** Removes what was made to be kept; also when it was kept already. */
  discard(): Promise<void>
}

/** By the name of the file: the id of the upload at first, and what `copy` says after that. */
export interface Staging {
  /** Opens the bytes of an upload to write on from `offset`; what is behind it, nobody has acknowledged, and it goes. */
  open(name: string, offset: number): Promise<Tail>
  /** Copies the first bytes into a file that nobody else knows, on the disk for good. @returns its name. */
  copy(name: string, bytes: number): Promise<string>
  /** Reads the whole, and gives it to be kept while the bytes stay here too, in case it comes to nothing. */
  whole(name: string, hints: { length: number; declared: string | null; filename: string }): Promise<Whole>
  /** Removing what is not there succeeds. */
  remove(names: string[]): Promise<void>
  /** What is here, by pages; the names begin with the id of their upload. */
  list(): AsyncIterable<string[]>
}

/** The end of an upload's bytes. */
export interface Tail {
  write(chunk: Buffer): Promise<void>
  /** When it resolves, all that was written before is on the disk for good. When it rejects, none of that may be relied on. */
  sync(): Promise<void>
  close(): Promise<void>
}

const pageSize = 500
const ours = /^upl_[0-9a-z]{26}(\.[0-9a-f-]{36})?$/
const idLength = 30

export function createStaging(folder: string): Staging {
  const root = join(folder, 'uploads')
  const placeOf = (name: string): string => {
    if (!ours.test(name)) throw new Error(`not an upload: ${name}`)
    return join(root, name)
  }
  const another = (name: string): string => `${name.slice(0, idLength)}.${randomUUID()}`

  return {
    async open(name, offset) {
      const path = placeOf(name)
      try {
        if (offset === 0) await makeFolder(root)
        const file = await open(path, offset === 0 ? 'w' : 'r+', 0o600)
        try {
          if ((await file.stat()).size < offset) throw elsewhere()
          await file.truncate(offset)
          if (offset === 0) await syncFolder(root)
        } catch (error) {
          await file.close()
          throw error
        }
        return tailOf(file, offset)
      } catch (error) {
        throw isMissing(error) && offset > 0 ? elsewhere() : asUnavailable(error)
      }
    },
    async copy(name, bytes) {
      const copy = another(name)
      // It is made when something is written to it.
      if (bytes === 0) return copy
      try {
        await copyBytes(placeOf(name), placeOf(copy), bytes)
        await syncFolder(root)
        return copy
      } catch (error) {
        throw isMissing(error) ? elsewhere() : asUnavailable(error)
      }
    },
    async whole(name, { length, declared, filename }) {
      const path = placeOf(name)
      const kept = placeOf(another(name))
      const discard = async (): Promise<void> => {
        await rm(kept, { force: true })
      }
      try {
        // Without a byte there was nothing to write.
        if (length === 0) await (await this.open(name, 0)).close()
        // A name of its own for the same bytes: a blob may be moved into its place.
        await link(path, kept).catch(async (error) => {
          if (!hasNoLinks(error)) throw error
          await copyBytes(path, kept, length)
        })
        const read = await digested(kept, length)
        return {
          path: kept,
          discard,
          bytes: length,
          sha256: read.sha256,
          contentType: await contentTypeOf(read.sample, {
            whole: read.sample.length === length,
            declared,
            name: filename,
          }),
        }
      } catch (error) {
        await discard()
        throw isMissing(error) ? elsewhere() : asUnavailable(error)
      }
    },
    async remove(names) {
      for (const name of names)
        await rm(placeOf(name), { force: true }).catch((error) => {
          throw asUnavailable(error)
        })
    },
    async *list() {
      let page: string[] = []
      try {
        for await (const { name } of await opendir(root)) {
          if (ours.test(name)) page.push(name)
          if (page.length === pageSize) {
            yield page
            page = []
          }
        }
      } catch (error) {
        if (!isMissing(error)) throw error
      }
      if (page.length > 0) yield page
    },
  }
}

function tailOf(file: FileHandle, offset: number): Tail {
  let end = offset
  return {
    async write(chunk) {
      try {
        const { bytesWritten } = await file.write(chunk, 0, chunk.length, end)
        // A disk that is almost full takes a part of what it is given.
        if (bytesWritten !== chunk.length)
          throw Object.assign(new Error('the disk took only a part'), { code: 'ENOSPC' })
      } catch (error) {
        throw asUnavailable(error)
      }
      end += chunk.length
    },
    async sync() {
      await file.datasync().catch((error) => {
        throw asUnavailable(error)
      })
    },
    async close() {
      await file.close()
    },
  }
}

/** The first bytes of a file as another one, which is there for good when its folder is. */
async function copyBytes(from: string, to: string, bytes: number): Promise<void> {
  try {
    // Where the disk can, both have the same blocks until one is written to.
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    const file = await open(to, 'r+')
    try {
      if ((await file.stat()).size < bytes) throw elsewhere()
      await file.truncate(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
  } catch (error) {
    await rm(to, { force: true })
    throw error
  }
}

async function digested(path: string, length: number): Promise<{ sha256: string; sample: Buffer }> {
  if ((await stat(path)).size < length) throw elsewhere()
  const hash = createHash('sha256')
  const sample: Buffer[] = []
  let sampled = 0
  if (length === 0) return { sha256: hash.digest('hex'), sample: Buffer.alloc(0) }
  for await (const chunk of createReadStream(path, {
    end: length - 1,
    highWaterMark: 512 * 1024,
  }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    if (sampled < sampleBytes)
      sampled += sample[sample.push(chunk.subarray(0, sampleBytes - sampled)) - 1].length
  }
  return { sha256: hash.digest('hex'), sample: Buffer.concat(sample) }
}

function elsewhere(): Error {
  return unavailable('The bytes of this upload are on another server; try again.')
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
