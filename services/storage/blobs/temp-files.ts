// What arrives is written to a file of its own while it is hashed and counted, so that nothing is ever seen half there. The
// file goes when it was kept, refused or cut off; one that a dead process left is removed when it is old.
import { createHash, randomUUID } from 'node:crypto'
import { open, opendir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { payloadTooLarge } from '../../../infra/errors.ts'
import type { FilePart } from '../../../infra/contract/operation.ts'
import type { Received } from './blob-store.ts'
import { asUnavailable } from './disk.ts'
import { contentTypeOf, sampleBytes } from '../content-type.ts'
import { makeFolder } from './fsync.ts'

export interface Arrived extends Received {
  /** The media type that the bytes have. */
  contentType: string
  /** Removes the file; also when it was kept already. */
  discard(): Promise<void>
}

export interface Incoming {
  /**
   * Reads the file to its end, and has it on the disk for good. `name` and the declared type only tell kinds of text apart.
   * Throws 413 as soon as there are more than `maxBytes`, what `content` fails with, or 503 when there is no room; then
   * nothing is left of it.
   */
  receive(
    file: FilePart,
    options: { maxBytes: number; name?: string; tooLarge?: (limit: number) => Error },
  ): Promise<Arrived>
  /** Removes what is older than `before`. @returns how many files. */
  tidy(before: Date): Promise<number>
}

export function createIncoming(folder: string): Incoming {
  const root = join(folder, 'incoming')

  return {
    async receive(file, { maxBytes, name, tooLarge = payloadTooLarge }) {
      await makeFolder(root).catch((error) => {
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
      const handle = await open(path, 'wx', 0o600).catch((error) => {
        throw asUnavailable(error)
      })
      try {
        for await (const chunk of file.content as AsyncIterable<Buffer>) {
          bytes += chunk.length
          if (bytes > maxBytes) throw tooLarge(maxBytes)
          hash.update(chunk)
          if (sampled < sampleBytes) {
            sample.push(chunk.subarray(0, sampleBytes - sampled))
            sampled += sample.at(-1)!.length
          }
          await written(handle.write(chunk), chunk.length)
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
        whole: sampled === bytes,
        declared: file.declaredType,
        name,
      })
      return { path, bytes, sha256, contentType, discard }
    },
    async tidy(before) {
      let removed = 0
      try {
        for await (const entry of await opendir(root)) {
          const path = join(root, entry.name)
          const found = await stat(path).catch(() => null)
          if (found === null || found.mtime >= before) continue
          await rm(path, { force: true })
          removed++
        }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      }
      return removed
    },
  }
}

/** A disk that is almost full takes a part of what it is given. */
async function written(writing: Promise<{ bytesWritten: number }>, length: number): Promise<void> {
  const { bytesWritten } = await writing
  if (bytesWritten !== length) throw Object.assign(new Error('the disk took only a part'), { code: 'ENOSPC' })
}
