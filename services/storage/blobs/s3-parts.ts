// Blobs that are written in parts to S3, over many requests and by any server. Tails are objects below
// `.platform-uploads/`.
import {
  DeleteObjectCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { BlobNotFound, PartsLost, storeUnavailable, type BlobParts, type StoredPart } from './blob-store.ts'
import { translateErrors, withTimeout, type S3Target } from './s3-client.ts'
import {
  abortMultipartUpload,
  completeMultipartUpload,
  createMultipartUpload,
  putObject,
  putPart,
} from './s3-put.ts'
import { readObject } from './s3-read.ts'

const prefix = '.platform-uploads/'
/** The errors of a store that does not have the parts, or has others. */
const lost = new Set(['NoSuchUpload', 'NoSuchKey', 'InvalidPart', 'InvalidPartOrder', 'EntityTooSmall'])

export function createS3Parts(target: S3Target): BlobParts {
  const { client, bucket: Bucket } = target

  return {
    takesNew: true,
    async begin(key) {
      return { key, id: await translateErrors(createMultipartUpload(target, key)) }
    },
    put: async (upload, number, file) => await findLoss(putPart(target, upload, number, file)),
    async presign({ key: Key, id: UploadId }, { number: PartNumber, bytes: ContentLength }, expiresIn) {
      const command = new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, ContentLength })
      return await getSignedUrl(client, command, { expiresIn })
    },
    async list({ key: Key, id: UploadId }) {
      const parts: StoredPart[] = []
      for (let after: string | undefined; ;) {
        const command = new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker: after })
        const page = await findLoss(client.send(command, withTimeout(target)))
        for (const { PartNumber, Size, ETag } of page.Parts ?? [])
          parts.push({ number: PartNumber!, bytes: Size!, etag: ETag! })
        if (page.IsTruncated !== true) return parts
        after = page.NextPartNumberMarker
      }
    },
    complete: async (upload, etags) => await findLoss(completeMultipartUpload(target, upload, etags)),
    abort: async (upload) => await translateErrors(abortMultipartUpload(target, upload)),
    putTail: async (name, file) => await translateErrors(putObject(target, prefix + name, file)),
    async readTail(name) {
      return await readObject(target, prefix + name).catch((error) => {
        throw error instanceof BlobNotFound ? new PartsLost(error.message) : error
      })
    },
    async deleteTails(names) {
      for (const name of names) {
        const command = new DeleteObjectCommand({ Bucket, Key: prefix + name })
        await translateErrors(client.send(command, withTimeout(target)))
      }
    },
    async *listTails() {
      for (let after: string | undefined; ;) {
        const command = new ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken: after })
        const page = await translateErrors(client.send(command, withTimeout(target)))
        yield (page.Contents ?? []).map(({ Key, LastModified }) => ({
          name: Key!.slice(prefix.length),
          modifiedAt: LastModified!,
        }))
        after = page.NextContinuationToken
        if (after === undefined) return
      }
    },
  }
}

async function findLoss<T>(request: Promise<T>): Promise<T> {
  try {
    return await request
  } catch (error) {
    const { name, message } = error as Error
    throw lost.has(name) ? new PartsLost(`${name}: ${message}`) : storeUnavailable(error)
  }
}
