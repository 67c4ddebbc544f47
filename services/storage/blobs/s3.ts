// The blob store in a bucket of any S3-compatible service. An object becomes visible only when it is
// complete.
import type { IncomingMessage } from 'node:http'
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
import { BlobNotFound, isBlobKey, storeUnavailable, type BlobStore } from './blob-store.ts'
import { createS3Client, statusOf, withTimeout, type S3Target } from './s3-client.ts'
import { createS3Documents } from './s3-documents.ts'
import { abortMultipartUpload, defaultPartSize, putFile } from './s3-put.ts'
import { startStallTimeout } from './stall-timeout.ts'

const maxConcurrentDeletes = 10

export interface S3BlobStoreOptions {
  /** Bytes. Default 256 MiB. */
  partSize?: number
  /** Milliseconds without progress after which a request is aborted. Default 20,000. */
  idleTimeoutMs?: number
}

export function createS3BlobStore(
  config: S3Config,
  { partSize = defaultPartSize, idleTimeoutMs = 20_000 }: S3BlobStoreOptions = {},
): BlobStore {
  const client = createS3Client(config)
  const target: S3Target = { client, bucket: config.bucket, partSize, idleTimeoutMs }
  const Bucket = config.bucket
  const limitDeletes = pLimit(maxConcurrentDeletes)

  return {
    location: `s3://${config.bucket}`,
    documents: createS3Documents(target),
    redirects: config.redirect,
    async put(key, file) {
      await translateErrors(putFile(target, key, file))
    },
    async read(key, range) {
      const timeout = new AbortController()
      const timer = setTimeout(() => timeout.abort(), idleTimeoutMs)
      const command = new GetObjectCommand({
        Bucket,
        Key: key,
        ...(range && { Range: `bytes=${range.start}-${range.end}` }),
      })
      const { Body } = await translateErrors(
        client.send(command, { abortSignal: timeout.signal }),
        key,
      ).finally(() => clearTimeout(timer))
      const body = Body as unknown as IncomingMessage
      const { socket } = body
      const stop = startStallTimeout(() => socket.bytesRead, {
        idleMs: idleTimeoutMs,
        // Received bytes that wait for a slow reader are not a stall of the store.
        isPaused: () => body.complete || body.readableLength > 0,
        abort: () => body.destroy(new Error('the S3 store stopped responding')),
      })
      return body.once('close', stop)
    },
    async presign(key, { contentType, contentDisposition, expiresInSeconds }) {
      const response = {
        ResponseContentType: contentType,
        ResponseContentDisposition: contentDisposition,
        ResponseCacheControl: 'private, no-store',
      }
      return await getSignedUrl(client, new GetObjectCommand({ Bucket, Key: key, ...response }), {
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
              await client.send(new DeleteObjectCommand({ Bucket, Key: key }), withTimeout(target))
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
          client.send(new ListObjectsV2Command({ Bucket, ContinuationToken: after }), withTimeout(target)),
        )
        yield (page.Contents ?? []).map(({ Key, Size, LastModified }) => ({
          key: Key!,
          bytes: Size!,
          modifiedAt: LastModified!,
        }))
        after = page.NextContinuationToken
        if (after === undefined) return
      }
    },
    async sizeOf(key) {
      try {
        const head = await client.send(new HeadObjectCommand({ Bucket, Key: key }), withTimeout(target))
        return head.ContentLength!
      } catch (error) {
        if (statusOf(error) === 404) return null
        throw storeUnavailable(error)
      }
    },
    async deleteIncompletePuts(before) {
      for (let after: { KeyMarker?: string; UploadIdMarker?: string } | null = {}; after !== null;) {
        const page: ListMultipartUploadsCommandOutput = await translateErrors(
          client.send(new ListMultipartUploadsCommand({ Bucket, ...after }), withTimeout(target)),
        )
        for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
          if (isBlobKey(Key!) && Initiated! < before)
            await translateErrors(abortMultipartUpload(target, Key!, UploadId!))
        }
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

async function translateErrors<T>(request: Promise<T>, key?: string): Promise<T> {
  try {
    return await request
  } catch (error) {
    if (key !== undefined && (error as Error).name === 'NoSuchKey') throw new BlobNotFound(key)
    throw storeUnavailable(error)
  }
}
