// Writes the bytes of one request behind those that an upload has, on the disk for good before anybody hears of them.
import type { Readable } from 'node:stream'
import { conflict, payloadTooLarge } from '../../../infra/errors.ts'
import type { Checksum } from './checksum.ts'
import type { Hold } from './lease.ts'
import type { Staging } from '../blobs/partial-files.ts'

export interface Appending {
  /** Where the content begins, which may be before the end of what is kept. */
  offset: number
  received: number
  length: number
  content: Readable
  /** With it all of the bytes are kept or none. */
  checksum: Checksum | null
}

/** Every so many beats what came is kept, so that little has to come again where a process dies. */
const beatsToKeep = 3

/**
 * @returns how many bytes the upload then has. Throws what the content fails with, when what had come is kept; 413 for more
 * than belongs into the upload and 460 for other bytes than the checksum says, when nothing is.
 */
export async function append(
  staging: Staging,
  hold: Hold,
  { offset, received, length, content, checksum }: Appending,
): Promise<number> {
  if (offset === length) {
    for await (const _chunk of chunksOf(content)) throw tooMany(length)
    checksum?.verify()
    return length
  }
  if (received > offset) await hold.advance(offset)
  const tail = await staging.open(hold.stagedAs, offset)
  let end = offset
  let kept = offset
  let heard = offset
  let beats = 0
  let failed: unknown
  let onTheSide = Promise.resolve()
  hold.onBeat((wanted) => {
    // Whoever reads it hears of it; the connection stays open for the answer.
    if (wanted && end === heard && content.listenerCount('error') > 0)
      content.emit('error', conflict('in_progress', 'Another request has taken over.'))
    heard = end
    // A database that is away is asked again at the end.
    if (checksum === null && ++beats % beatsToKeep === 0) onTheSide = onTheSide.then(keep).catch(() => {})
  })
  try {
    for await (const chunk of chunksOf(content)) {
      if (end + chunk.length > length) throw tooMany(length)
      if (failed !== undefined) throw failed
      hold.check()
      checksum?.update(chunk)
      await tail.write(chunk)
      end += chunk.length
    }
    checksum?.verify()
    await settled()
    await keep()
    return end
  } catch (error) {
    await settled()
    if (checksum === null) await (isRefused(error) ? drop() : keep())
    throw error
  } finally {
    await tail.close()
  }

  async function settled(): Promise<void> {
    hold.onBeat(null)
    await onTheSide
  }

  /** Has all that came on the disk for good, and says so. */
  async function keep(): Promise<void> {
    const bytes = end
    // The system tells of bytes that it lost once: the next sync succeeds, without them.
    if (failed !== undefined) throw failed
    if (bytes === kept) return
    await tail.sync().catch((error) => {
      throw (failed = error)
    })
    hold.check()
    await hold.advance(bytes)
    kept = bytes
  }

  /** Says that nothing of it is kept; who opens the upload next cuts it off. */
  async function drop(): Promise<void> {
    await hold.advance(offset)
  }
}

/** Unlike the stream's own iterator it leaves the connection open for the answer when it ends early. */
function chunksOf(content: Readable): AsyncIterable<Buffer> {
  return content.iterator({ destroyOnReturn: false })
}

export function tooMany(length: number): Error {
  return Object.assign(payloadTooLarge(length), {
    message: `The upload has ${length} bytes, and these are more.`,
  })
}

function isRefused(error: unknown): boolean {
  return (error as { status?: number }).status === 413
}
