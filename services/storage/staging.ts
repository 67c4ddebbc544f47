// Where the bytes of unfinished uploads are: a file each on the disk of this server, also where blobs are in S3, because what
// comes in pieces of any size, with a checksum or cut off in the middle, has to be put together, and taken back, somewhere.
// So all requests of one upload have to come to servers with the same STORAGE_DIR.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, link, mkdir, open, opendir, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { unavailable } from '../errors.ts'
import type { Received } from './blobs.ts'
import { contentTypeOf, sampleBytes } from './content-type.ts'
import { asUnavailable, sync } from './disk.ts'

export interface Whole extends Received {
  /** The media type that the bytes have. */
  contentType: string
  /** Removes what was made to be kept; also when it was kept already. */
  discard (): Promise<void>
}

export interface Staging {
  /** Opens the bytes of an upload to write on from `offset`; what is behind it, nobody has acknowledged, and it goes. */
  open (id: string, offset: number): Promise<Tail>
  /** Reads the whole, and gives it to be kept while the bytes stay here too, in case it comes to nothing. */
  whole (id: string, hints: { length: number, declared: string | null, name: string }): Promise<Whole>
  /** Removing what is not there succeeds. */
  remove (ids: string[]): Promise<void>
  /** The uploads that have bytes here, by pages. */
  list (): AsyncIterable<string[]>
}

/** The end of an upload's bytes. */
export interface Tail {
  write (chunk: Buffer): Promise<void>
  /** Takes back what was written behind `offset`. */
  cut (offset: number): Promise<void>
  /** When it resolves, all that was written before is on the disk for good. */
  sync (): Promise<void>
  close (): Promise<void>
}

const pageSize = 500

export function createStaging (folder: string): Staging {
  const root = join(folder, 'uploads')
  const placeOf = (id: string): string => {
    if (!/^upl_[0-9a-z]{26}$/.test(id)) throw new Error(`not an upload: ${id}`)
    return join(root, id)
  }

  return {
    async open (id, offset) {
      const path = placeOf(id)
      try {
        const isNew = offset === 0 && await mkdir(root, { recursive: true, mode: 0o700 }) !== undefined
        const file = await open(path, offset === 0 ? 'w' : 'r+', 0o600)
        try {
          if ((await file.stat()).size < offset) throw elsewhere()
          await file.truncate(offset)
          if (offset === 0) await sync(root)
          if (isNew) await sync(folder)
        } catch (error) {
          await file.close()
          throw error
        }
        return tailOf(file, offset)
      } catch (error) {
        throw isMissing(error) && offset > 0 ? elsewhere() : asUnavailable(error)
      }
    },
    async whole (id, { length, declared, name }) {
      const path = placeOf(id)
      const kept = `${path}.whole`
      const discard = async (): Promise<void> => { await rm(kept, { force: true }) }
      try {
        // Without a byte there was nothing to write.
        if (length === 0) await (await this.open(id, 0)).close()
        await discard()
        // A name of its own for the same bytes: a blob may be moved into its place.
        await link(path, kept).catch(async (error) => {
          if (isMissing(error)) throw error
          await copyFile(path, kept)
        })
        const read = await digested(kept, length)
        return { path: kept, discard, bytes: length, sha256: read.sha256, contentType: await contentTypeOf(read.sample, { whole: read.sample.length === length, declared, name }) }
      } catch (error) {
        await discard()
        throw isMissing(error) ? elsewhere() : asUnavailable(error)
      }
    },
    async remove (ids) {
      // In this order, because only the second is listed.
      for (const path of ids.flatMap((id) => [`${placeOf(id)}.whole`, placeOf(id)])) await rm(path, { force: true }).catch((error) => { throw asUnavailable(error) })
    },
    async * list () {
      let page: string[] = []
      try {
        for await (const { name } of await opendir(root)) {
          if (/^upl_[0-9a-z]{26}$/.test(name)) page.push(name)
          if (page.length === pageSize) {
            yield page
            page = []
          }
        }
      } catch (error) {
        if (!isMissing(error)) throw error
      }
      if (page.length > 0) yield page
    }
  }
}

function tailOf (file: FileHandle, offset: number): Tail {
  let end = offset
  return {
    async write (chunk) {
      try {
        const { bytesWritten } = await file.write(chunk, 0, chunk.length, end)
        // A disk that is almost full takes a part of what it is given.
        if (bytesWritten !== chunk.length) throw Object.assign(new Error('the disk took only a part'), { code: 'ENOSPC' })
      } catch (error) {
        throw asUnavailable(error)
      }
      end += chunk.length
    },
    async cut (offset) {
      await file.truncate(offset).catch((error) => { throw asUnavailable(error) })
      end = offset
    },
    async sync () { await file.datasync().catch((error) => { throw asUnavailable(error) }) },
    async close () { await file.close() }
  }
}

async function digested (path: string, length: number): Promise<{ sha256: string, sample: Buffer }> {
  if ((await stat(path)).size < length) throw elsewhere()
  const hash = createHash('sha256')
  const sample: Buffer[] = []
  let sampled = 0
  if (length === 0) return { sha256: hash.digest('hex'), sample: Buffer.alloc(0) }
  for await (const chunk of createReadStream(path, { end: length - 1, highWaterMark: 512 * 1024 }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    if (sampled < sampleBytes) sampled += sample[sample.push(chunk.subarray(0, sampleBytes - sampled)) - 1].length
  }
  return { sha256: hash.digest('hex'), sample: Buffer.concat(sample) }
}

function elsewhere (): Error {
  return unavailable('The bytes of this upload are on another server; try again.')
}

function isMissing (error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}
