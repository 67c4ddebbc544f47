// Uploads local files to S3, in one request or as a multipart upload. A local file is complete and hashed, so
// its length and digest are known in advance and a failed request can be retried.
import { retry } from '../../../infra/retry.ts'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
  type CompletedPart,
} from '@aws-sdk/client-s3'
import type { LocalFile } from './blob-store.ts'
import { maxAttempts, statusOf, withTimeout, type S3Target } from './s3-client.ts'
import { startStallTimeout } from './stall-timeout.ts'

/** Bytes. S3 itself accepts 5 GiB in one request. */
export const defaultPartSize = 256 * 1024 * 1024
const maxParts = 10_000
/** Bytes per millisecond. A slower upload is aborted. */
const minUploadRate = 32
const ContentType = 'application/octet-stream'

export async function putFile(target: S3Target, key: string, file: LocalFile): Promise<void> {
  await (file.bytes <= target.partSize ? putObject(target, key, file) : putInParts(target, key, file))
}

async function putObject(
  { client, bucket, idleTimeoutMs }: S3Target,
  key: string,
  { path, bytes, sha256 }: LocalFile,
): Promise<void> {
  await withRetries(() =>
    sendFromFile({ path, start: 0, bytes, idleTimeoutMs }, async (Body, abortSignal) => {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        Body,
        ContentLength: bytes,
        ContentType,
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

async function putInParts(target: S3Target, key: string, { path, bytes }: LocalFile): Promise<void> {
  const { client, bucket, partSize, idleTimeoutMs } = target
  const size = partSizeFor(bytes, partSize)
  const { UploadId } = await client.send(
    new CreateMultipartUploadCommand({ Bucket: bucket, Key: key, ContentType }),
    withTimeout(target),
  )
  const upload = { Bucket: bucket, Key: key, UploadId }
  try {
    const Parts: CompletedPart[] = []
    for (let start = 0; start < bytes; start += size) {
      const ContentLength = Math.min(size, bytes - start)
      const PartNumber = Parts.length + 1
      const { ETag } = await withRetries(() =>
        sendFromFile({ path, start, bytes: ContentLength, idleTimeoutMs }, (Body, abortSignal) =>
          client.send(new UploadPartCommand({ ...upload, PartNumber, Body, ContentLength }), { abortSignal }),
        ),
      )
      Parts.push({ PartNumber, ETag })
    }
    // A store may take minutes to assemble a large object.
    const abortSignal = AbortSignal.timeout(15 * idleTimeoutMs)
    const complete = new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } })
    await client.send(complete, { abortSignal })
  } catch (error) {
    // Not awaited. When it fails, deleteIncompletePuts removes the parts later.
    void abortMultipartUpload(target, key, UploadId!).catch(() => {})
    throw error
  }
}

/** Deletes the parts of an unfinished multipart upload. Aborting a missing upload succeeds. */
export async function abortMultipartUpload(target: S3Target, key: string, uploadId: string): Promise<void> {
  const command = new AbortMultipartUploadCommand({ Bucket: target.bucket, Key: key, UploadId: uploadId })
  await target.client.send(command, withTimeout(target)).catch((error) => {
    if ((error as Error).name !== 'NoSuchUpload') throw error
  })
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
  return await retry(request, {
    attempts: maxAttempts,
    delayMs: (attempt) => Math.random() * 200 * 2 ** attempt,
    shouldRetry(error) {
      const status = statusOf(error)
      const isRefused = status !== undefined && status >= 400 && status < 500
      return !isRefused && !/^(Abort|Timeout)Error$/.test((error as Error).name)
    },
  })
}
