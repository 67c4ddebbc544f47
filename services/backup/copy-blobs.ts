// Copies blobs from one store to another, a few at once and in constant memory. Blobs never change, so those
// that are there already with the right size are skipped.
import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import pLimit from 'p-limit'
import { BackupError } from '../../infra/backup/errors.ts'
import { BlobNotFound, type BlobStore } from '../storage/blobs/blob-store.ts'

/** A blob as its row describes it. */
export interface ExpectedBlob {
  key: string
  bytes: number
  /** In hex. */
  sha256: string
}

/** A blob to copy. Without a row its SHA-256 is not known. */
export interface CopiedBlob extends Omit<ExpectedBlob, 'sha256'> {
  sha256: string | null
}

export interface CopyBlobsOptions {
  from: BlobStore
  to: BlobStore
  /** The folder of blobs on their way. On the disk of `to`, if `to` is on disk. */
  tempFolder: string
  onProgress?: (done: { blobs: number; bytes: number }) => void
}

export interface CopyResult {
  copied: number
  copiedBytes: number
  /** Blobs that `from` does not have, or has with other bytes. */
  lost: string[]
}

const concurrency = 8
const maxLost = 1_000

export async function copyBlobs(
  blobs: AsyncIterable<ExpectedBlob>,
  { from, to, tempFolder, onProgress = () => {} }: CopyBlobsOptions,
): Promise<CopyResult> {
  await mkdir(tempFolder, { recursive: true, mode: 0o700 })
  const result: CopyResult = { copied: 0, copiedBytes: 0, lost: [] }
  const done = { blobs: 0, bytes: 0 }
  const copyOne = async (blob: ExpectedBlob): Promise<void> => {
    const outcome = await copyBlob(blob, { from, to, tempFolder })
    if (outcome === 'lost') result.lost.push(blob.key)
    if (outcome === 'copied') {
      result.copied++
      result.copiedBytes += blob.bytes
    }
    done.blobs++
    done.bytes += blob.bytes
    onProgress(done)
  }
  try {
    for await (const batch of batches(blobs)) {
      await runAll(batch, copyOne)
      if (result.lost.length > maxLost)
        throw new BackupError(
          `${from.location} lacks more than ${maxLost} blobs, among them ${result.lost[0]}: it is not the ` +
            'file store of this database, or it is badly damaged.',
        )
    }
  } finally {
    await rm(tempFolder, { recursive: true, force: true })
  }
  return result
}

const batchSize = 200

async function* batches<T>(blobs: AsyncIterable<T>): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const blob of blobs) {
    batch.push(blob)
    if (batch.length < batchSize) continue
    yield batch
    batch = []
  }
  yield batch
}

/** Runs the work for each blob, a few at once. */
export async function forEachBlob<T>(
  blobs: AsyncIterable<T>,
  work: (blob: T) => Promise<void>,
): Promise<void> {
  for await (const batch of batches(blobs)) await runAll(batch, work)
}

/** Waits for all, so that nothing runs on after an error. */
async function runAll<T>(items: T[], work: (item: T) => Promise<void>): Promise<void> {
  const limit = pLimit(concurrency)
  const results = await Promise.allSettled(
    items.map((item) =>
      limit(async () => {
        try {
          await work(item)
        } catch (error) {
          limit.clearQueue()
          throw error
        }
      }),
    ),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
}

export interface CopyBlobOptions extends Omit<CopyBlobsOptions, 'onProgress'> {
  /** The key in `from`. Default: the same. */
  sourceKey?: string
  /** Whether a blob with the right size is replaced, too. */
  replaces?: boolean
}

/** Copies a blob if the source has the bytes that are expected. */
export async function copyBlob(
  { key, bytes, sha256 }: CopiedBlob,
  { from, to, tempFolder, sourceKey = key, replaces = false }: CopyBlobOptions,
): Promise<'copied' | 'skipped' | 'lost'> {
  const found = await to.sizeOf(key)
  if (found === bytes && !replaces) return 'skipped'
  const path = join(tempFolder, randomUUID())
  try {
    const hash = createHash('sha256')
    const hashing = new PassThrough()
    let received = 0
    hashing.on('data', (chunk: Buffer) => {
      hash.update(chunk)
      received += chunk.length
    })
    const file = createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true })
    await pipeline(await from.read(sourceKey), hashing, file)
    const digest = hash.digest('hex')
    if (received !== bytes || (sha256 ?? digest) !== digest) return 'lost'
    if (found !== null) await to.delete([key])
    await to.put(key, { path, bytes, sha256: digest })
    return 'copied'
  } catch (error) {
    if (error instanceof BlobNotFound) return 'lost'
    throw error
  } finally {
    await rm(path, { force: true })
  }
}
