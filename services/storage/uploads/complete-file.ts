// All bytes of an upload, hashed and ready to become a file: a partial file on disk, or a blob that S3 has
// assembled from its parts.
import { BlobNotFound, PartsLost, type BlobStore, type Multipart } from '../blobs/blob-store.ts'
import { digestOf, type Digest } from '../blobs/partial-files.ts'
import { contentTypeOf } from '../content-type.ts'
import type { Storage } from '../storage.ts'
import type { Lease } from './lease.ts'
import type { StoredUpload } from './uploads.ts'

export interface CompleteFile {
  bytes: number
  /** In hex. */
  sha256: string
  contentType: string
  /** Runs the transaction that inserts the file. If it is rolled back, the bytes stay for a retry. */
  store(fileId: string, transaction: (blobKey: string) => Promise<void>): Promise<void>
  discard(): Promise<void>
}

/** @throws PartsLost */
export async function completeFile(
  storage: Storage,
  upload: StoredUpload,
  lease: Lease,
): Promise<CompleteFile> {
  return upload.multipart === null
    ? await completePartialFile(storage, upload, lease)
    : await completeParts(await storage.blobStore(), upload, upload.multipart)
}

async function completePartialFile(
  storage: Storage,
  { length, declared_content_type: declared, name: filename }: StoredUpload,
  { tempName }: Lease,
): Promise<CompleteFile> {
  const { partialFiles } = storage
  const file = await partialFiles.toTempFile(tempName, { length, declared, filename })
  return {
    ...file,
    async store(fileId, transaction) {
      await storage.storeBlob(fileId, file, () => transaction(fileId))
      // The retention task deletes the partial file when this fails.
      await partialFiles.delete([tempName]).catch(() => {})
    },
  }
}

/** The blob is read once, so that its SHA-256 is that of the stored bytes. */
async function completeParts(
  store: BlobStore,
  { length, declared_content_type: declared, name }: StoredUpload,
  multipart: Multipart,
): Promise<CompleteFile> {
  await store.parts!.complete(multipart, multipart.etags).catch(async (error) => {
    // An earlier request may have completed it.
    if (!(error instanceof PartsLost) || (await store.sizeOf(multipart.key)) !== length) throw error
  })
  const { bytes, sha256, sample } = await readDigest(store, multipart.key)
  if (bytes !== length) throw new PartsLost(`the blob ${multipart.key} has ${bytes} bytes`)
  const isComplete = sample.length === length
  return {
    bytes,
    sha256,
    contentType: await contentTypeOf(sample, { isComplete, declared, name }),
    store: async (_fileId, transaction) => await transaction(multipart.key),
    async discard() {},
  }
}

async function readDigest(store: BlobStore, key: string): Promise<Digest> {
  try {
    return await digestOf(await store.read(key))
  } catch (error) {
    throw error instanceof BlobNotFound ? new PartsLost(error.message) : error
  }
}
