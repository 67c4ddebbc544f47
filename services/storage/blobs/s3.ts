// The blob store in a bucket of any S3-compatible service. Every upload is sent from a complete, hashed local
// file: its length and digest are known in advance, it can be retried, and no incomplete object is ever
// visible.
import { open } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  type CompletedPart,
  type ListMultipartUploadsCommandOutput,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import pLimit from 'p-limit'
import type { S3Config } from '../../../infra/config/config.ts'
import { BlobNotFound, isBlobKey, type BlobStore, type LocalFile } from './blob-store.ts'
import { storeUnavailable } from './disk-errors.ts'
import { startStallTimeout } from './stall-timeout.ts'

/**
 * Bytes. A larger file is a multipart upload with parts of this size; S3 itself accepts 5 GiB in one request.
 */
const defaultPartSize = 256 * 1024 * 1024
const maxParts = 10_000
const maxAttempts = 3
const maxConcurrentDeletes = 10
/** Bytes per millisecond. A slower upload is aborted. */
const minUploadRate = 32

export interface S3BlobStoreOptions {
  /** Bytes. Default 256 MiB. */
  partSize?: number
  /** Milliseconds without progress after which a request is aborted. Default 20,000. */
  idleTimeoutMs?: number
}

export function createS3BlobStore(
  { bucket, region, endpoint, credentials, redirect }: S3Config,
  { partSize = defaultPartSize, idleTimeoutMs = 20_000 }: S3BlobStoreOptions = {},
): BlobStore {
  const client = new S3Client({
    region,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    ...(credentials !== null && { credentials }),
    // The SHA-256 is sent with every object; many S3-compatible stores reject the SDK's default checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts,
    // Errors are thrown, and logged where they are handled.
    logger: { trace() {}, debug() {}, info() {}, warn() {}, error() {} },
    // No socket timeout: it would also end a download whose client reads slowly. startStallTimeout aborts
    // stalled requests.
    requestHandler: {
      connectionTimeout: 5_000,
      socketTimeout: 0,
      httpAgent: { keepAlive: true, maxSockets: 256 },
      httpsAgent: { keepAlive: true, maxSockets: 256 },
    },
  })
  const limitDeletes = pLimit(maxConcurrentDeletes)
  const target = { Bucket: bucket }
  /** The time limit of a request with a short response, including its retries. */
  const withTimeout = (): { abortSignal: AbortSignal } => ({
    abortSignal: AbortSignal.timeout(idleTimeoutMs),
  })

  return {
    redirects: redirect,
    async put(key, file) {
      await translateErrors(file.bytes <= partSize ? putObject(key, file) : putInParts(key, file))
    },
    async read(key, range) {
      const timeout = new AbortController()
      const timer = setTimeout(() => timeout.abort(), idleTimeoutMs)
      const command = new GetObjectCommand({
        ...target,
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
      return await getSignedUrl(client, new GetObjectCommand({ ...target, Key: key, ...response }), {
        expiresIn: expiresInSeconds,
      })
    },
    async delete(keys) {
      const deleted: string[] = []
      let error: unknown = null
      await Promise.all(
        keys.map((key) =>
          limitDeletes(async () => {
            // After an error without a response the store is unreachable, so the remaining keys are not
            // tried.
            if (error !== null && statusOf(error) === undefined) return
            try {
              await client.send(new DeleteObjectCommand({ ...target, Key: key }), withTimeout())
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
          client.send(new ListObjectsV2Command({ ...target, ContinuationToken: after }), withTimeout()),
        )
        yield (page.Contents ?? []).map(({ Key, LastModified }) => ({ key: Key!, modifiedAt: LastModified! }))
        after = page.NextContinuationToken
        if (after === undefined) return
      }
    },
    async deleteIncompletePuts(before) {
      for (let after: { KeyMarker?: string; UploadIdMarker?: string } | null = {}; after !== null;) {
        const page: ListMultipartUploadsCommandOutput = await translateErrors(
          client.send(new ListMultipartUploadsCommand({ ...target, ...after }), withTimeout()),
        )
        for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
          if (isBlobKey(Key!) && Initiated! < before)
            await translateErrors(abortMultipartUpload(Key!, UploadId!))
        }
        after =
          page.IsTruncated === true
            ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
            : null
      }
    },
    async ping() {
      await client.send(new HeadBucketCommand(target), { abortSignal: AbortSignal.timeout(2_000) })
    },
    async close() {
      client.destroy()
    },
  }

  async function putObject(key: string, { path, bytes, sha256 }: LocalFile): Promise<void> {
    await withRetries(() =>
      sendFromFile({ path, start: 0, bytes, idleTimeoutMs }, async (Body, abortSignal) => {
        const command = new PutObjectCommand({
          ...target,
          Key: key,
          Body,
          ContentLength: bytes,
          ContentType: 'application/octet-stream',
          ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
        })
        // The digest is also part of the signature, so a store without checksums rejects corrupted bytes too.
        command.middlewareStack.add(
          (next) => async (args) => {
            ;(args.request as { headers: Record<string, string> }).headers['x-amz-content-sha256'] = sha256
            return await next(args)
          },
          { step: 'build' },
        )
        await client.send(command, { abortSignal })
      }),
    )
  }

  async function putInParts(key: string, { path, bytes }: LocalFile): Promise<void> {
    const size = partSizeFor(bytes, partSize)
    const { UploadId } = await client.send(
      new CreateMultipartUploadCommand({ ...target, Key: key, ContentType: 'application/octet-stream' }),
      withTimeout(),
    )
    try {
      const Parts: CompletedPart[] = []
      for (let start = 0; start < bytes; start += size) {
        const ContentLength = Math.min(size, bytes - start)
        const PartNumber = Parts.length + 1
        const { ETag } = await withRetries(() =>
          sendFromFile({ path, start, bytes: ContentLength, idleTimeoutMs }, (Body, abortSignal) =>
            client.send(
              new UploadPartCommand({ ...target, Key: key, UploadId, PartNumber, Body, ContentLength }),
              { abortSignal },
            ),
          ),
        )
        Parts.push({ PartNumber, ETag })
      }
      // A store may take minutes to assemble a large object.
      const abortSignal = AbortSignal.timeout(15 * idleTimeoutMs)
      await client.send(
        new CompleteMultipartUploadCommand({ ...target, Key: key, UploadId, MultipartUpload: { Parts } }),
        { abortSignal },
      )
    } catch (error) {
      // Not awaited. When it fails, deleteIncompletePuts removes the parts later.
      void abortMultipartUpload(key, UploadId!).catch(() => {})
      throw error
    }
  }

  async function abortMultipartUpload(Key: string, UploadId: string): Promise<void> {
    await client
      .send(new AbortMultipartUploadCommand({ ...target, Key, UploadId }), withTimeout())
      .catch((error) => {
        if ((error as Error).name !== 'NoSuchUpload') throw error
      })
  }
}

/** The part size in bytes: larger than `minimum` where the file would have more than 10,000 parts. */
export function partSizeFor(bytes: number, minimum = defaultPartSize): number {
  return Math.max(minimum, Math.ceil(bytes / maxParts))
}

interface FileSlice {
  path: string
  start: number
  bytes: number
  idleTimeoutMs: number
}

/**
 * Sends a part of a file. The SDK waits forever for a body stream that fails and for a store that stops
 * responding, so the request is aborted here in both cases.
 */
async function sendFromFile<T>(
  { path, start, bytes, idleTimeoutMs }: FileSlice,
  send: (body: Readable, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const file = await open(path)
  const failure = new AbortController()
  const body = file.createReadStream({
    start,
    end: Math.max(start, start + bytes - 1),
    highWaterMark: 128 * 1024,
  })
  body.on('error', (error) => failure.abort(error))
  const stop = startStallTimeout(() => body.bytesRead, {
    idleMs: idleTimeoutMs,
    totalMs: idleTimeoutMs + bytes / minUploadRate,
    abort: () => failure.abort(new Error('the S3 store stopped responding')),
  })
  try {
    return await send(body, failure.signal)
  } finally {
    stop()
    body.destroy()
  }
}

/**
 * Retries a request with a streamed body, which the SDK does not retry, because the stream must be reopened.
 * Timeouts and 4xx responses are not retried.
 */
async function withRetries<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request()
    } catch (error) {
      const status = statusOf(error)
      if (
        attempt === maxAttempts ||
        /^(Abort|Timeout)Error$/.test((error as Error).name) ||
        (status !== undefined && status >= 400 && status < 500)
      )
        throw error
      await sleep(Math.random() * 200 * 2 ** attempt)
    }
  }
}

/** The HTTP status of the store's response; undefined when there was no response. */
function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
}

async function translateErrors<T>(request: Promise<T>, key?: string): Promise<T> {
  try {
    return await request
  } catch (error) {
    if (key !== undefined && (error as Error).name === 'NoSuchKey') throw new BlobNotFound(key)
    throw storeUnavailable(error)
  }
}
