// Blobs as objects of a bucket of any S3-compatible store. What has arrived is on disk already, whole and hashed, so that it
// goes there with its length and digest known, is tried again where that helps, and is never seen half there.
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
import { unavailable } from '../../../infra/errors.ts'
import { BlobMissing, isOurs, type Blobs, type Received } from './blob-store.ts'

/** What is larger goes in parts of this size, in bytes; S3 takes 5 GiB at once. */
const partSize = 256 * 1024 * 1024
const mostParts = 10_000
const attempts = 3
/** Bytes a millisecond: a store that takes fewer is as good as gone. */
const slowest = 32

export interface S3BlobsOptions {
  /** Default 256 MiB. */
  partSize?: number
  /** Milliseconds without a sign of life after which the store is given up. Default 20,000. */
  silence?: number
}

export function createS3Blobs(
  { bucket, region, endpoint, credentials, redirect }: S3Config,
  { partSize: most = partSize, silence = 20_000 }: S3BlobsOptions = {},
): Blobs {
  const client = new S3Client({
    region,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    ...(credentials !== null && { credentials }),
    // The digest of the whole is sent with it; many stores know no other.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    // What fails is thrown, and logged where it is handled.
    logger: { trace() {}, debug() {}, info() {}, warn() {}, error() {} },
    // Silence is what is defined here, not the socket's: a client that reads slowly is none of the store's.
    requestHandler: {
      connectionTimeout: 5_000,
      socketTimeout: 0,
      httpAgent: { keepAlive: true, maxSockets: 256 },
      httpsAgent: { keepAlive: true, maxSockets: 256 },
    },
  })
  const deletions = pLimit(10)
  const place = { Bucket: bucket }
  /** For what has a short answer, repetitions included. */
  const soon = (): { abortSignal: AbortSignal } => ({ abortSignal: AbortSignal.timeout(silence) })

  return {
    redirects: redirect,
    async put(key, received) {
      await translated(received.bytes <= most ? putWhole(key, received) : putInParts(key, received))
    },
    async read(key, range) {
      const late = new AbortController()
      const timer = setTimeout(() => late.abort(), silence)
      const command = new GetObjectCommand({
        ...place,
        Key: key,
        ...(range && { Range: `bytes=${range.start}-${range.end}` }),
      })
      const { Body } = await translated(client.send(command, { abortSignal: late.signal }), key).finally(() =>
        clearTimeout(timer),
      )
      const body = Body as unknown as IncomingMessage
      const { socket } = body
      // What has come and waits for its reader is not the store's silence.
      const stop = watch(() => socket.bytesRead, {
        silence,
        unless: () => body.complete || body.readableLength > 0,
        giveUp: () => body.destroy(new Error('the store is silent')),
      })
      return body.once('close', stop)
    },
    async presign(key, { type, disposition, seconds }) {
      const response = {
        ResponseContentType: type,
        ResponseContentDisposition: disposition,
        ResponseCacheControl: 'private, no-store',
      }
      return await getSignedUrl(client, new GetObjectCommand({ ...place, Key: key, ...response }), {
        expiresIn: seconds,
      })
    },
    async remove(keys) {
      const gone: string[] = []
      let error: unknown = null
      await Promise.all(
        keys.map((key) =>
          deletions(async () => {
            if (error !== null && statusOf(error) === undefined) return
            try {
              await client.send(new DeleteObjectCommand({ ...place, Key: key }), soon())
              gone.push(key)
            } catch (reason) {
              error ??= reason
            }
          }),
        ),
      )
      return { gone, error }
    },
    async *list() {
      for (let after: string | undefined; ;) {
        const page = await translated(
          client.send(new ListObjectsV2Command({ ...place, ContinuationToken: after }), soon()),
        )
        yield (page.Contents ?? []).map(({ Key, LastModified }) => ({ key: Key!, modifiedAt: LastModified! }))
        after = page.NextContinuationToken
        if (after === undefined) return
      }
    },
    async tidy(before) {
      for (let after: { KeyMarker?: string; UploadIdMarker?: string } | null = {}; after !== null;) {
        const page: ListMultipartUploadsCommandOutput = await translated(
          client.send(new ListMultipartUploadsCommand({ ...place, ...after }), soon()),
        )
        for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
          if (isOurs(Key!) && Initiated! < before) await translated(abort(Key!, UploadId!))
        }
        after =
          page.IsTruncated === true
            ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker }
            : null
      }
    },
    async ping() {
      await client.send(new HeadBucketCommand(place), { abortSignal: AbortSignal.timeout(2_000) })
    },
    async close() {
      client.destroy()
    },
  }

  async function putWhole(key: string, { path, bytes, sha256 }: Received): Promise<void> {
    await again(() =>
      fromFile({ path, start: 0, bytes, silence }, async (Body, abortSignal) => {
        const command = new PutObjectCommand({
          ...place,
          Key: key,
          Body,
          ContentLength: bytes,
          ContentType: 'application/octet-stream',
          ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64'),
        })
        // Signed with the request, so that a store that knows no checksums refuses what changed on the way, too.
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

  async function putInParts(key: string, { path, bytes }: Received): Promise<void> {
    const size = sizeOfParts(bytes, most)
    const { UploadId } = await client.send(
      new CreateMultipartUploadCommand({ ...place, Key: key, ContentType: 'application/octet-stream' }),
      soon(),
    )
    try {
      const Parts: CompletedPart[] = []
      for (let start = 0; start < bytes; start += size) {
        const ContentLength = Math.min(size, bytes - start)
        const PartNumber = Parts.length + 1
        const { ETag } = await again(() =>
          fromFile({ path, start, bytes: ContentLength, silence }, (Body, abortSignal) =>
            client.send(
              new UploadPartCommand({ ...place, Key: key, UploadId, PartNumber, Body, ContentLength }),
              { abortSignal },
            ),
          ),
        )
        Parts.push({ PartNumber, ETag })
      }
      // Putting together what is large takes a store some minutes.
      const abortSignal = AbortSignal.timeout(15 * silence)
      await client.send(
        new CompleteMultipartUploadCommand({ ...place, Key: key, UploadId, MultipartUpload: { Parts } }),
        { abortSignal },
      )
    } catch (error) {
      // Nobody waits for it; what stays behind all the same goes when the store is tidied.
      void abort(key, UploadId!).catch(() => {})
      throw error
    }
  }

  async function abort(Key: string, UploadId: string): Promise<void> {
    await client.send(new AbortMultipartUploadCommand({ ...place, Key, UploadId }), soon()).catch((error) => {
      if ((error as Error).name !== 'NoSuchUpload') throw error
    })
  }
}

/** Larger for a file that would have more parts than a store takes. */
export function sizeOfParts(bytes: number, least = partSize): number {
  return Math.max(least, Math.ceil(bytes / mostParts))
}

/** Sends a file, or a part of it. The client waits for ever for a stream that fails, and for a store that is silent, so it is told. */
async function fromFile<T>(
  { path, start, bytes, silence }: Stretch,
  send: (body: Readable, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const file = await open(path)
  const broken = new AbortController()
  const body = file.createReadStream({
    start,
    end: Math.max(start, start + bytes - 1),
    highWaterMark: 128 * 1024,
  })
  body.on('error', (error) => broken.abort(error))
  const stop = watch(() => body.bytesRead, {
    silence,
    longest: silence + bytes / slowest,
    giveUp: () => broken.abort(new Error('the store is silent')),
  })
  try {
    return await send(body, broken.signal)
  } finally {
    stop()
    body.destroy()
  }
}

interface Stretch {
  path: string
  start: number
  bytes: number
  silence: number
}

interface Watch {
  silence: number
  /** Milliseconds for all of it. */
  longest?: number
  /** Whether the silence is somebody else's. */
  unless?: () => boolean
  giveUp: () => void
}

/** Gives up what has not come forward for as long as `silence`, or takes longer than it may. @returns what ends the watch. */
function watch(
  progress: () => number,
  { silence, longest = Infinity, unless = () => false, giveUp }: Watch,
): () => void {
  const started = performance.now()
  let heard = started
  let seen = progress()
  const timer = setInterval(
    () => {
      const now = performance.now()
      if (progress() !== seen || unless()) heard = now
      seen = progress()
      if (now - heard < silence && now - started < longest) return
      clearInterval(timer)
      giveUp()
    },
    Math.min(1_000, silence / 4),
  )
  timer.unref()
  return () => clearInterval(timer)
}

/** The client repeats what has no stream in it; a stream has to be opened anew. What took too long would do so again. */
async function again<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const status = statusOf(error)
      if (
        attempt === attempts ||
        /^(Abort|Timeout)Error$/.test((error as Error).name) ||
        (status !== undefined && status >= 400 && status < 500)
      )
        throw error
      await sleep(Math.random() * 200 * 2 ** attempt)
    }
  }
}

/** undefined where there was no answer. */
function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
}

async function translated<T>(work: Promise<T>, key?: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (key !== undefined && (error as Error).name === 'NoSuchKey') throw new BlobMissing(key)
    throw Object.assign(unavailable('The store of files is out of reach; try again.'), { cause: error })
  }
}
