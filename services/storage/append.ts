// Writes the bytes of one request behind those that an upload has, on the disk for good before anybody hears of them.
import type { Readable } from 'node:stream'
import { conflict, payloadTooLarge } from '../errors.ts'
import type { Checksum } from './checksum.ts'
import type { Hold } from './hold.ts'
import type { Staging } from './staging.ts'

export interface Appending {
  id: string
  /** Where the content begins, which may be before the end of what is kept. */
  offset: number
  received: number
  length: number
  content: Readable
  /** With it all of the bytes are kept or none. */
  checksum: Checksum | null
}

/**
 * @returns how many bytes the upload then has. Throws what the content fails with, when what had come is kept; 413 for more
 * than belongs into the upload and 460 for other bytes than the checksum says, when nothing is.
 */
export async function append (staging: Staging, hold: Hold, { id, offset, received, length, content, checksum }: Appending): Promise<number> {
  if (offset === length) {
    for await (const _chunk of chunksOf(content)) throw tooMany(length)
    checksum?.verify()
    return length
  }
  if (received > offset) await hold.advance(offset)
  const tail = await staging.open(id, offset)
  let end = offset
  let noted = offset
  let heard = offset
  let noting = Promise.resolve()
  hold.onBeat((wanted) => {
    // Whoever reads it hears of it; the connection stays open for the answer.
    if (wanted && end === heard && content.listenerCount('error') > 0) content.emit('error', conflict('in_progress', 'Another request has taken over.'))
    heard = end
    if (checksum === null && end > noted) noting = noting.then(() => note(end)).catch(() => {})
  })
  try {
    try {
      for await (const chunk of chunksOf(content)) {
        if (end + chunk.length > length) throw tooMany(length)
        hold.check()
        checksum?.update(chunk)
        await tail.write(chunk)
        end += chunk.length
      }
      checksum?.verify()
    } catch (error) {
      await settle()
      if (checksum !== null || isRefused(error)) await takeBack()
      throw error
    } finally {
      await settle()
      if (end > noted) await note(end)
    }
    return end
  } finally {
    await tail.close()
  }

  /** From now on nothing is noted on the side. */
  async function settle (): Promise<void> {
    hold.onBeat(null)
    await noting
  }

  async function note (bytes: number): Promise<void> {
    await tail.sync()
    hold.check()
    await hold.advance(bytes)
    noted = bytes
  }

  async function takeBack (): Promise<void> {
    await tail.cut(offset)
    if (noted > offset) await hold.advance(offset)
    end = noted = offset
  }
}

/** Unlike the stream's own iterator it leaves the connection open for the answer when it ends early. */
function chunksOf (content: Readable): AsyncIterable<Buffer> {
  return content.iterator({ destroyOnReturn: false })
}

export function tooMany (length: number): Error {
  return Object.assign(payloadTooLarge(length), { message: `The upload has ${length} bytes, and these are more.` })
}

function isRefused (error: unknown): boolean {
  return (error as { status?: number }).status === 413
}
