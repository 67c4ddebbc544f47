// The blob store in a bucket of any S3-compatible service. An object becomes visible only when it is
// complete.
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type ListMultipartUploadsCommandOutput,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import pLimit from 'p-limit'
import type { S3Config } from '../../../infra/config/config.ts'
import { isBlobKey, storeUnavailable, type BlobStore } from './blob-store.ts'
import { createS3Client, statusOf, translateErrors, withTimeout, type S3Target } from './s3-client.ts'
import { createS3Documents } from './s3-documents.ts'
import { createS3Parts } from './s3-parts.ts'
import { abortMultipartUpload, defaultPartSize, putFile } from './s3-put.ts'
import { readObject } from './s3-read.ts'

const maxConcurrentDeletes = 10

export interface S3BlobStoreOptions {
  /** Bytes. Default 256 MiB. */
  partSize?: number
  /** Milliseconds without progress after which a request is aborted. Default 20,000. */
  idleTimeoutMs?: number
  /** The keys of all objects begin with it. Default: nothing. */
  prefix?: string
}

export function createS3BlobStore(
  config: S3Config,
  { partSize = defaultPartSize, idleTimeoutMs = 20_000, prefix = '' }: S3BlobStoreOptions = {},
): BlobStore {
  const client = createS3Client(config)
  const target: S3Target = { client, bucket: config.bucket, partSize, idleTimeoutMs }
  const Bucket = config.bucket
  const limitDeletes = pLimit(maxConcurrentDeletes)

  return {
    parts: createS3Parts(target),
    location: `s3://${config.bucket}${prefix === '' ? '' : `/${prefix}`}`,
    documents: createS3Documents(target),
    redirects: config.redirect,
    async put(key, file) {
      await translateErrors(putFile(target, prefix + key, file))
    },
    async read(key, range) {
      return await readObject(target, prefix + key, range)
    },
    async presign(key, { contentType, contentDisposition, expiresInSeconds }) {
      const response = {
        ResponseContentType: contentType,
        ResponseContentDisposition: contentDisposition,
        ResponseCacheControl: 'private, no-store',
      }
      return await getSignedUrl(client, new GetObjectCommand({ Bucket, Key: prefix + key, ...response }), {
        expiresIn: expiresInSeconds,
      })
    },
    async delete(keys) {
      const deleted: string[] = []
      let error: unknown = null
      await Promise.all(
        keys.map((key) =>
          limitDeletes(async () => {
            // An error without a response: the store is unreachable, so the other keys are skipped.
            if (error !== null && statusOf(error) === undefined) return
            try {
              await client.send(new DeleteObjectCommand({ Bucket, Key: prefix + key }), withTimeout(target))
              deleted.push(key)
            } catch (reason) {
              error ??= reason
            }
          }),
        ),
      )
      return { deleted, error }
    },
    async *list() {
      for (let after: string | undefined; ;) {
        const page = await translateErrors(
          client.send(
            new ListObjectsV2Command({ Bucket, Prefix: prefix, ContinuationToken: after }),
            withTimeout(target),
          ),
        )
        yield (page.Contents ?? []).map(({ Key, Size, LastModified }) => ({
          key: Key!.slice(prefix.length),
          bytes: Size!,
          modifiedAt: LastModified!,
        }))
        after = page.NextContinuationToken
        if (after === undefined) return
      }
    },
    async sizeOf(key) {
      try {
        const head = await client.send(
          new HeadObjectCommand({ Bucket, Key: prefix + key }),
          withTimeout(target),
        )
        return head.ContentLength!
      } catch (error) {
        if (statusOf(error) === 404) return null
        throw storeUnavailable(error)
      }
    },
    async deleteIncompletePuts(before, unusedOf) {
      for (let after: { KeyMarker?: string; UploadIdMarker?: string } | null = {}; after !== null;) {
        const page: ListMultipartUploadsCommandOutput = await translateErrors(
          client.send(new ListMultipartUploadsCommand({ Bucket, ...after }), withTimeout(target)),
        )
        const old = (page.Uploads ?? []).filter(
          ({ Key, Initiated }) => isBlobKey(Key!) && Initiated! < before,
        )
        const unused = old.length === 0 ? [] : await unusedOf(old.map(({ Key }) => Key!))
        for (const { Key, UploadId } of old)
          if (unused.includes(Key!))
            await translateErrors(abortMultipartUpload(target, { key: Key!, id: UploadId! }))
        after =
          page.IsTruncated === true
            ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
            : null
      }
    },
    async ping() {
      await client.send(new HeadBucketCommand({ Bucket }), { abortSignal: AbortSignal.timeout(2_000) })
    },
    async close() {
      client.destroy()
    },
  }
}
