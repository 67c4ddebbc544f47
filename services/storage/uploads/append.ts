// Writes the bytes of one request of an upload to disk or S3. Bytes are durable before the upload's offset
// includes them.
import type { Readable } from 'node:stream'
import { inProgress, payloadTooLarge } from '../../../infra/errors.ts'
import type { Checksum } from './checksum.ts'
import type { Lease } from './lease.ts'
import type { Multipart } from '../blobs/blob-store.ts'
import type { PartialFileWriter, Progress } from '../blobs/partial-files.ts'

export interface AppendOptions {
  /** The offset of the content. It may be smaller than `received`. */
  offset: number
  received: number
  length: number
  /** Where the bytes are in S3; null for a partial file on disk. */
  multipart: Multipart | null
  content: Readable
  /** With a checksum, either all bytes of the request are accepted or none. */
  checksum: Checksum | null
}

/** Heartbeats between two saves of the progress, so that little has to be sent again after a crash. */
const heartbeatsPerSave = 3

/**
 * Appends the content at `offset`. Throws the error of the content stream after the bytes received
 * so far are stored. Throws 413 for more bytes than the upload's length, and 460 for a checksum mismatch; no
 * byte of the request is accepted then.
 * @param open the bytes of the upload for writing at the offset.
 * @returns the new number of received bytes.
 */
export async function append(
  open: (offset: number) => Promise<PartialFileWriter>,
  lease: Lease,
  { offset, received, length, multipart, content, checksum }: AppendOptions,
): Promise<Progress> {
  if (offset === length) {
    for await (const _chunk of chunksOf(content)) throw exceedsLength(length)
    checksum?.verify()
    return start()
  }
  if (received > offset && multipart === null) await lease.recordProgress(offset)
  const writer = await open(offset)
  let end = offset
  let saved = start()
  let isWriting = false
  let endAtHeartbeat = offset
  let heartbeats = 0
  let syncError: unknown
  let backgroundSave = Promise.resolve()
  lease.onHeartbeat((isRequested) => {
    // A stalled request yields to the one that waits. Destroying the stream would close the connection before
    // the response.
    if (isRequested && end === endAtHeartbeat && !isWriting && content.listenerCount('error') > 0)
      content.emit('error', inProgress('Another request took over this upload.'))
    endAtHeartbeat = end
    // A failed save is retried at the end of the request.
    if (checksum === null && ++heartbeats % heartbeatsPerSave === 0)
      backgroundSave = backgroundSave.then(() => save({ isLast: false })).catch(() => {})
  })
  try {
    for await (const chunk of chunksOf(content)) {
      if (end + chunk.length > length) throw exceedsLength(length)
      if (syncError !== undefined) throw syncError
      lease.assertHeld()
      checksum?.update(chunk)
      isWriting = true
      await writer.write(chunk)
      isWriting = false
      end += chunk.length
    }
    checksum?.verify()
    await stopBackgroundSaves()
    await saveAll()
    return saved
  } catch (error) {
    await stopBackgroundSaves()
    if (checksum === null) await (isTooLarge(error) ? discard() : saveAll())
    throw error
  } finally {
    await writer.close()
  }

  async function stopBackgroundSaves(): Promise<void> {
    lease.onHeartbeat(null)
    await backgroundSave
  }

  /** Makes received bytes durable and records them. */
  async function save({ isLast }: { isLast: boolean }): Promise<void> {
    // The operating system reports lost writes only once: after a failed fsync, the next one succeeds without
    // those bytes.
    if (syncError !== undefined) throw syncError
    if (end === saved.bytes) return
    const progress = await writer.sync({ isLast }).catch((error) => {
      throw (syncError = error)
    })
    if (progress.bytes === saved.bytes) return
    lease.assertHeld()
    await lease.recordProgress(progress.bytes, progress.multipart)
    saved = progress
  }

  async function saveAll(): Promise<void> {
    await save({ isLast: true })
    await writer.cleanUp()
  }

  /** Resets the progress to the start of the request. The next `open` continues there. */
  async function discard(): Promise<void> {
    await lease.recordProgress(offset, multipart ?? undefined)
  }

  function start(): Progress {
    return { bytes: offset, multipart: multipart ?? undefined }
  }
}

/** Does not destroy the stream at an early end, so that the connection stays open for the response. */
function chunksOf(content: Readable): AsyncIterable<Buffer> {
  return content.iterator({ destroyOnReturn: false })
}

/** The 413 for a body that exceeds the length of the upload. */
export function exceedsLength(length: number): Error {
  return Object.assign(payloadTooLarge(length), {
    message: `The bytes exceed the upload's length of ${length} bytes.`,
  })
}

function isTooLarge(error: unknown): boolean {
  return (error as { status?: number }).status === 413
}
