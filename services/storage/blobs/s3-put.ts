// Uploads local files to S3, in one request or as a multipart upload. A local file is complete and hashed, so
// its length and digest are known in advance and a failed request can be retried.
import { retry } from '../../../infra/concurrency/retry.ts'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import type { LocalFile, MultipartUpload } from './blob-store.ts'
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

/** Stores an object or a part from a file. @returns the ETag. */
async function sendWhole(
  { client, idleTimeoutMs }: S3Target,
  { path, bytes, sha256 }: LocalFile,
  commandFor: (Body: Readable) => PutObjectCommand | UploadPartCommand,
): Promise<string> {
  const { ETag } = await withRetries(() =>
    sendFromFile({ path, start: 0, bytes, idleTimeoutMs }, async (Body, abortSignal) => {
      const command = commandFor(Body) as PutObjectCommand
      // The digest is part of the signature, so that also a store without checksums rejects corrupted bytes.
      command.middlewareStack.add(
        (next) => async (args) => {
          ;(args.request as { headers: Record<string, string> }).headers['x-amz-content-sha256'] = sha256
          return await next(args)
        },
        { step: 'build' },
      )
      return await client.send(command, { abortSignal })
    }),
  )
  return ETag!
}

export async function putObject(target: S3Target, key: string, file: LocalFile): Promise<void> {
  const ChecksumSHA256 = Buffer.from(file.sha256, 'hex').toString('base64')
  const object = { Bucket: target.bucket, Key: key, ContentLength: file.bytes, ContentType, ChecksumSHA256 }
  await sendWhole(target, file, (Body) => new PutObjectCommand({ ...object, Body }))
}

/** @returns the ETag of the part. */
export async function putPart(
  target: S3Target,
  { key, id }: MultipartUpload,
  PartNumber: number,
  file: LocalFile,
): Promise<string> {
  const part = { Bucket: target.bucket, Key: key, UploadId: id, PartNumber, ContentLength: file.bytes }
  return await sendWhole(target, file, (Body) => new UploadPartCommand({ ...part, Body }))
}

/** @returns the id of the multipart upload. */
export async function createMultipartUpload(target: S3Target, key: string): Promise<string> {
  const command = new CreateMultipartUploadCommand({ Bucket: target.bucket, Key: key, ContentType })
  return (await target.client.send(command, withTimeout(target))).UploadId!
}

export async function completeMultipartUpload(
  { client, bucket, idleTimeoutMs }: S3Target,
  { key, id }: MultipartUpload,
  etags: string[],
): Promise<void> {
  const Parts = etags.map((ETag, index) => ({ PartNumber: index + 1, ETag }))
  const upload = { Bucket: bucket, Key: key, UploadId: id, MultipartUpload: { Parts } }
  // A store may take minutes to assemble a large object.
  const abortSignal = AbortSignal.timeout(15 * idleTimeoutMs)
  await client.send(new CompleteMultipartUploadCommand(upload), { abortSignal })
}

async function putInParts(target: S3Target, key: string, { path, bytes }: LocalFile): Promise<void> {
  const { client, bucket, partSize, idleTimeoutMs } = target
  const size = partSizeFor(bytes, partSize)
  const id = await createMultipartUpload(target, key)
  const upload = { Bucket: bucket, Key: key, UploadId: id }
  try {
    const etags: string[] = []
    for (let start = 0; start < bytes; start += size) {
      const ContentLength = Math.min(size, bytes - start)
      const PartNumber = etags.length + 1
      const { ETag } = await withRetries(() =>
        sendFromFile({ path, start, bytes: ContentLength, idleTimeoutMs }, (Body, abortSignal) =>
          client.send(new UploadPartCommand({ ...upload, PartNumber, Body, ContentLength }), { abortSignal }),
        ),
      )
      etags.push(ETag!)
    }
    await completeMultipartUpload(target, { key, id }, etags)
  } catch (error) {
    // Not awaited. When it fails, deleteIncompletePuts removes the parts later.
    void abortMultipartUpload(target, { key, id }).catch(() => {})
    throw error
  }
}

/** Deletes the parts of an unfinished multipart upload. Aborting a missing upload succeeds. */
export async function abortMultipartUpload(target: S3Target, { key, id }: MultipartUpload): Promise<void> {
  const command = new AbortMultipartUploadCommand({ Bucket: target.bucket, Key: key, UploadId: id })
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
