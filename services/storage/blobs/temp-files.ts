// Temporary files for uploads in progress. The bytes of a request are written to a temporary file while they
// are hashed and counted, so no incomplete file is ever visible. Old files of crashed processes are deleted
// by the orphan sweep.
import { createHash, randomUUID } from 'node:crypto'
import { open, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { payloadTooLarge } from '../../../infra/errors.ts'
import type { FilePart } from '../../../infra/contract/operation.ts'
import type { LocalFile } from './blob-store.ts'
import { asUnavailable, isMissing, requireFullWrite } from './disk-errors.ts'
import { contentTypeOf, sampleBytes } from '../content-type.ts'
import type { Reservation } from '../reservations.ts'
import { createDirectory } from './fsync.ts'

export interface TempFile extends LocalFile {
  /** The media type, detected from the bytes. */
  contentType: string
  /** Whether the file has the bytes. False if the quota has no room for them: then they were only hashed. */
  isStored: boolean
  /** Deletes the file. Does nothing when the file was moved into the blob store. */
  discard(): Promise<void>
}

export interface ReceiveOptions {
  maxBytes: number
  /** Creates the error for a file that is larger than `maxBytes`. Default: 413 PAYLOAD_TOO_LARGE. */
  tooLarge?: (limit: number) => Error
  /** Says how many bytes may be on disk. Default: as many as `maxBytes`. */
  admission?: Pick<Reservation, 'admitted' | 'admit'>
}

export interface TempFiles {
  readonly folder: string
  /**
   * Reads the file to its end and syncs it to disk. Throws 413 as soon as `maxBytes` is exceeded, 503 when
   * the disk is full, or the error of the content stream; the temporary file is deleted then.
   */
  receive(file: FilePart, options: ReceiveOptions): Promise<TempFile>
  /** Deletes files last modified before `before`. @returns the number of deleted files. */
  deleteOlderThan(before: Date): Promise<number>
}

export function createTempFiles(directory: string): TempFiles {
  const root = join(directory, 'incoming')

  return {
    folder: root,
    async receive(file, { maxBytes, tooLarge = payloadTooLarge, admission }) {
      await createDirectory(root).catch((error) => {
        throw asUnavailable(error)
      })
      const path = join(root, randomUUID())
      const discard = async (): Promise<void> => {
        await rm(path, { force: true })
      }
      const hash = createHash('sha256')
      const sample: Buffer[] = []
      let bytes = 0
      let sampled = 0
      let isStored = true
      const handle = await open(path, 'wx', 0o600).catch((error) => {
        throw asUnavailable(error)
      })
      try {
        if (file.maxLength !== undefined)
          isStored = (await admission?.admit(Math.min(file.maxLength, maxBytes), { isLength: true })) ?? true
        for await (const chunk of file.content as AsyncIterable<Buffer>) {
          bytes += chunk.length
          if (bytes > maxBytes) throw tooLarge(maxBytes)
          hash.update(chunk)
          if (sampled < sampleBytes) {
            sample.push(chunk.subarray(0, sampleBytes - sampled))
            sampled += sample.at(-1)!.length
          }
          if (isStored && admission !== undefined && bytes > admission.admitted) {
            isStored = await admission.admit(bytes)
            if (!isStored) await handle.truncate(0)
          }
          if (!isStored) continue
          const { bytesWritten } = await handle.write(chunk)
          requireFullWrite(bytesWritten, chunk.length)
        }
        await handle.sync()
      } catch (error) {
        await handle.close().catch(() => {})
        await discard()
        throw asUnavailable(error)
      }
      await handle.close()
      const sha256 = (file.sha256 = hash.digest('hex'))
      const contentType = await contentTypeOf(Buffer.concat(sample), {
        isComplete: sampled === bytes,
        declared: file.declaredType,
        name: file.name,
      })
      return { path, bytes, sha256, contentType, isStored, discard }
    },
    async deleteOlderThan(before) {
      let deleted = 0
      try {
        for await (const entry of await opendir(root)) {
          const path = join(root, entry.name)
          const found = await stat(path).catch(() => null)
          if (found === null || found.mtime >= before) continue
          await rm(path, { force: true })
          deleted++
        }
      } catch (error) {
        if (!isMissing(error)) throw error
      }
      return deleted
    },
  }
}
