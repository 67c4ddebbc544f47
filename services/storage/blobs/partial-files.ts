// The bytes of unfinished resumable uploads, with files on disk: one partial file per upload. All requests of
// one upload therefore must reach servers that share STORAGE_DIR. With S3 the bytes are in parts there.
import { createHash, randomUUID } from 'node:crypto'
import { constants, createReadStream } from 'node:fs'
import { copyFile, link, open, opendir, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { unavailable } from '../../../infra/errors.ts'
import { contentTypeOf, sampleBytes } from '../content-type.ts'
import { asUnavailable, cannotHardLink, isMissing, requireFullWrite } from './disk-errors.ts'
import { createDirectory, syncDirectory } from './fsync.ts'
import type { Multipart } from './blob-store.ts'
import type { TempFile } from './temp-files.ts'

/** Hints to detect the media type of a complete upload. */
export interface CompleteOptions {
  /** The length of the upload in bytes. */
  length: number
  declared: string | null
  filename: string
}

/** A partial file is addressed by its name: the id of the upload, or the id and a UUID for a copy. */
export interface PartialFiles {
  /**
   * Opens the file for writing at `offset` and truncates it there: bytes after `offset` were never
   * acknowledged. Throws 503 when the file is not on this server.
   */
  open(name: string, offset: number): Promise<PartialFileWriter>
  /** Copies the first `bytes` bytes to a new file, durably. @returns the name of the copy. */
  copy(name: string, bytes: number): Promise<string>
  /**
   * A temporary file with the bytes of a complete upload, to be stored as a blob. The partial file stays for
   * a retry.
   */
  toTempFile(name: string, options: CompleteOptions): Promise<TempFile>
  /** Deleting a missing file succeeds. */
  delete(names: string[]): Promise<void>
  /**
   * Lists the names of all partial files in pages. The first 30 characters of a name are the id of the
   * upload.
   */
  list(): AsyncIterable<string[]>
}

/** The durable bytes of an upload, and where they are in S3. */
export interface Progress {
  bytes: number
  multipart?: Multipart
}

export interface PartialFileWriter {
  write(chunk: Buffer): Promise<void>
  /**
   * Makes previous writes durable: all, or during the request those that are ready for it. After a rejection
   * none of them can be relied on.
   */
  sync(options?: { isLast: boolean }): Promise<Progress>
  /** Deletes what the last progress has replaced. To be called after the progress is recorded. */
  cleanUp(): Promise<void>
  close(): Promise<void>
}

const pageSize = 500
const namePattern = /^upl_[0-9a-z]{26}(\.[0-9a-f-]{36})?$/
const idLength = 30

export function createPartialFiles(directory: string): PartialFiles {
  const root = join(directory, 'uploads')
  const pathOf = (name: string): string => {
    if (!namePattern.test(name)) throw new Error(`invalid name of a partial file: ${name}`)
    return join(root, name)
  }
  const newName = (name: string): string => `${name.slice(0, idLength)}.${randomUUID()}`

  return {
    async open(name, offset) {
      const path = pathOf(name)
      try {
        if (offset === 0) await createDirectory(root)
        const file = await open(path, offset === 0 ? 'w' : 'r+', 0o600)
        try {
          if ((await file.stat()).size < offset) throw onAnotherServer()
          await file.truncate(offset)
          if (offset === 0) await syncDirectory(root)
        } catch (error) {
          await file.close()
          throw error
        }
        return createWriter(file, offset)
      } catch (error) {
        throw isMissing(error) && offset > 0 ? onAnotherServer() : asUnavailable(error)
      }
    },
    async copy(name, bytes) {
      const copy = newName(name)
      // The first write creates an empty file.
      if (bytes === 0) return copy
      try {
        await copyBytes(pathOf(name), pathOf(copy), bytes)
        await syncDirectory(root)
        return copy
      } catch (error) {
        throw isMissing(error) ? onAnotherServer() : asUnavailable(error)
      }
    },
    async toTempFile(name, { length, declared, filename }) {
      const path = pathOf(name)
      const linked = pathOf(newName(name))
      const discard = async (): Promise<void> => {
        await rm(linked, { force: true })
      }
      try {
        // An empty upload has no partial file yet.
        if (length === 0) await (await this.open(name, 0)).close()
        // A second name for the same bytes, because the blob store may move the file away.
        await link(path, linked).catch(async (error) => {
          if (!cannotHardLink(error)) throw error
          await copyBytes(path, linked, length)
        })
        const { sha256, sample } = await digestFile(linked, length)
        return {
          path: linked,
          discard,
          isStored: true,
          bytes: length,
          sha256,
          contentType: await contentTypeOf(sample, {
            isComplete: sample.length === length,
            declared,
            name: filename,
          }),
        }
      } catch (error) {
        await discard()
        throw isMissing(error) ? onAnotherServer() : asUnavailable(error)
      }
    },
    async delete(names) {
      for (const name of names)
        await rm(pathOf(name), { force: true }).catch((error) => {
          throw asUnavailable(error)
        })
    },
    async *list() {
      let page: string[] = []
      try {
        for await (const { name } of await opendir(root)) {
          if (namePattern.test(name)) page.push(name)
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

function createWriter(file: FileHandle, offset: number): PartialFileWriter {
  let end = offset
  return {
    async write(chunk) {
      try {
        const { bytesWritten } = await file.write(chunk, 0, chunk.length, end)
        requireFullWrite(bytesWritten, chunk.length)
      } catch (error) {
        throw asUnavailable(error)
      }
      end += chunk.length
    },
    async sync() {
      const bytes = end
      await file.datasync().catch((error) => {
        throw asUnavailable(error)
      })
      return { bytes }
    },
    async cleanUp() {},
    async close() {
      await file.close()
    },
  }
}

/** Copies the first bytes of a file. The copy is durable once its directory is synced. */
async function copyBytes(from: string, to: string, bytes: number): Promise<void> {
  try {
    // FICLONE shares the blocks of both files (copy-on-write) where the file system can.
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    const file = await open(to, 'r+')
    try {
      if ((await file.stat()).size < bytes) throw onAnotherServer()
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

/** The digest of the first `length` bytes. */
async function digestFile(path: string, length: number): Promise<Digest> {
  if ((await stat(path)).size < length) throw onAnotherServer()
  if (length === 0) return await digestOf(Readable.from([]))
  return await digestOf(createReadStream(path, { end: length - 1, highWaterMark: 512 * 1024 }))
}

export interface Digest {
  bytes: number
  /** In hex. */
  sha256: string
  /** The first bytes, from which the media type is detected. */
  sample: Buffer
}

export async function digestOf(content: Readable): Promise<Digest> {
  const hash = createHash('sha256')
  const sample: Buffer[] = []
  let [bytes, sampled] = [0, 0]
  for await (const chunk of content as AsyncIterable<Buffer>) {
    bytes += chunk.length
    hash.update(chunk)
    if (sampled < sampleBytes)
      sampled += sample[sample.push(chunk.subarray(0, sampleBytes - sampled)) - 1].length
  }
  return { bytes, sha256: hash.digest('hex'), sample: Buffer.concat(sample) }
}

function onAnotherServer(): Error {
  return unavailable('The bytes of this upload are on another server; try again.')
}
