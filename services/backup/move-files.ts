// Moves the blobs of a running installation from one store to another. Servers write to the target and read
// from both, so every blob is at least in one of them. The work can be repeated after any interruption: blobs
// that are in the target are not copied again.
import { mkdir } from 'node:fs/promises'
import pLimit from 'p-limit'
import type { Db } from '../../infra/database/database.ts'
import * as sql from '../../generated/sql/storage.ts'
import { isBlobKey, type BlobStore, type ListedBlob } from '../storage/blobs/blob-store.ts'
import { digestOf } from '../storage/blobs/partial-files.ts'
import { verifyStore, type Difference } from '../storage/verify.ts'
import { copyBlob, forEachBlob, type CopiedBlob } from './copy-blobs.ts'

export interface MoveFilesOptions {
  from: BlobStore
  to: BlobStore
  /** For blobs on their way; on the disk of `to`, if it is on disk. */
  tempFolder: string
  /** Whether the blobs of the source are deleted at the end, if all are verified. */
  deletesSource: boolean
  onProgress?: (message: string, part: string) => void
  /** Called for each blob that neither store has with its bytes. */
  onDifference?: (difference: Difference) => void
}

export interface MoveFilesResult {
  copied: number
  copiedBytes: number
  /** Blobs of the target whose SHA-256 was compared with their rows. */
  verified: number
  /** Blobs that neither store has with their bytes. */
  failed: number
  /** Unfinished uploads whose bytes are in parts in the source. Their blobs will be there, too. */
  unfinished: number
  /** Blobs deleted from the source. */
  deleted: number
  /** Blobs of the source that the target does not have: the rest of crashes, or written meanwhile. */
  left: number
}

/** Repeat the command for more. */
const maxRepaired = 10_000
const concurrentChecks = 8
const parts = { copy: 'copying blobs', verify: 'verifying the target', delete: 'deleting the source' }

export async function moveFiles(db: Db, options: MoveFilesOptions): Promise<MoveFilesResult> {
  const { from, tempFolder, deletesSource } = options
  await mkdir(tempFolder, { recursive: true, mode: 0o700 })
  const { copied, copiedBytes } = await copyAll(db, options)
  const { verified, failed } = await verifyAll(db, options)
  const unfinished = from.parts === null ? 0 : (await sql.countUploadsInParts(db)).n
  const isComplete = failed === 0 && unfinished === 0
  const { deleted, left } =
    deletesSource && isComplete ? await deleteSource(options) : { deleted: 0, left: 0 }
  return { copied, copiedBytes, verified, failed, unfinished, deleted, left }
}

async function copyAll(
  db: Db,
  { from, to, tempFolder, onProgress = () => {} }: MoveFilesOptions,
): Promise<Pick<MoveFilesResult, 'copied' | 'copiedBytes'>> {
  let [blobs, copied, copiedBytes] = [0, 0, 0]
  await forEachBlob(knownBlobs(db, from), async (blob) => {
    if ((await copyBlob(blob, { from, to, tempFolder })) === 'copied') {
      copied++
      copiedBytes += blob.bytes
    }
    blobs++
    onProgress(`blobs: ${blobs}, ${copied} of them copied, ${copiedBytes} bytes`, parts.copy)
  })
  return { copied, copiedBytes }
}

/**
 * The blobs of a store that have a row or are in quarantine. Others, whose transaction has not ended or was
 * rolled back, are not copied.
 */
async function* knownBlobs(db: Db, store: BlobStore): AsyncGenerator<CopiedBlob> {
  for await (const page of store.list()) {
    const listed = new Map(page.filter(({ key }) => isBlobKey(key)).map((blob) => [blob.key, blob]))
    const rows = await sql.compareBlobs(db, { keys: [...listed.keys()], before: new Date(0) })
    for (const { key, bytes, sha256, is_quarantined: isQuarantined } of rows)
      if (bytes !== null || isQuarantined)
        yield { key, bytes: bytes ?? listed.get(key)!.bytes, sha256: bytes === null ? null : sha256 }
  }
}

/** Compares every blob of the target with its row. What differs or is missing is copied once more. */
async function verifyAll(
  db: Db,
  options: MoveFilesOptions,
): Promise<Pick<MoveFilesResult, 'verified' | 'failed'>> {
  const { to, onProgress = () => {}, onDifference = () => {} } = options
  const found: Difference[] = []
  let failed = 0
  const { blobs: verified } = await verifyStore(db, to, {
    hash: true,
    onProgress: (message) => onProgress(message, parts.verify),
    onDifference(difference) {
      // The sweep of the target takes care of blobs without a row.
      if (difference.kind === 'unknown') return
      if (found.length < maxRepaired) found.push(difference)
      else failed++
    },
  })
  for (const { key } of found) {
    const difference = await copyAgain(db, key, options)
    if (difference === null) continue
    failed++
    onDifference(difference)
  }
  return { verified, failed }
}

/** @returns null if the target has the blob now, or if no row needs it any more. */
async function copyAgain(
  db: Db,
  key: string,
  { from, to, tempFolder }: MoveFilesOptions,
): Promise<Difference | null> {
  const [{ bytes, sha256 }] = await sql.compareBlobs(db, { keys: [key], before: new Date(0) })
  if (bytes === null) return null
  const blob = { key, bytes, sha256: sha256! }
  const options = { from, to, tempFolder, replaces: true }
  const isCopied = (await copyBlob(blob, options)) === 'copied'
  if (isCopied && (await digestOf(await to.read(key))).sha256 === sha256) return null
  const size = await from.sizeOf(key)
  const kind = size === null ? 'missing' : size === bytes ? 'wrong_hash' : 'wrong_size'
  return { kind, key, bytes }
}

/** Deletes the blobs that the target has with the same size. */
async function deleteSource({
  from,
  to,
  onProgress = () => {},
}: MoveFilesOptions): Promise<Pick<MoveFilesResult, 'deleted' | 'left'>> {
  let [deleted, left] = [0, 0]
  for await (const page of from.list()) {
    const blobs = page.filter(({ key }) => isBlobKey(key))
    const keys = await keysInBoth(blobs, to)
    const result = await from.delete(keys)
    if (result.error !== null) throw result.error
    deleted += keys.length
    left += blobs.length - keys.length
    onProgress(`blobs: ${deleted} deleted`, parts.delete)
  }
  return { deleted, left }
}

async function keysInBoth(blobs: ListedBlob[], to: BlobStore): Promise<string[]> {
  const limit = pLimit(concurrentChecks)
  const sizes = await Promise.all(blobs.map(({ key }) => limit(() => to.sizeOf(key))))
  return blobs.filter(({ bytes }, index) => sizes[index] === bytes).map(({ key }) => key)
}
