// Blobs as objects of a bucket of any S3-compatible store. What has arrived is on disk already, whole and hashed, so that it
// goes there with its length and digest known, is tried again where that helps, and is never seen half there.
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  AbortMultipartUploadCommand, CompleteMultipartUploadCommand, CreateMultipartUploadCommand, DeleteObjectCommand, GetObjectCommand, HeadBucketCommand,
  ListMultipartUploadsCommand, ListObjectsV2Command, PutObjectCommand, S3Client, UploadPartCommand, type CompletedPart
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import pLimit from 'p-limit'
import type { S3Config } from '../config.ts'
import { unavailable } from '../errors.ts'
import { BlobMissing, type Blobs, type Range, type Received } from './blobs.ts'

/** What is larger goes in parts of this size, in bytes; S3 takes 5 GiB at once and 10,000 parts. */
const partSize = 256 * 1024 * 1024
const attempts = 3
/** Milliseconds without a byte after which a connection to the store is given up. */
const silence = 30_000

export interface S3BlobsOptions {
  /** Default 256 MiB. */
  partSize?: number
}

export function createS3Blobs ({ bucket, region, endpoint, credentials, redirect }: S3Config, options: S3BlobsOptions = {}): Blobs {
  const most = options.partSize ?? partSize
  const client = new S3Client({
    region,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    ...(credentials !== null && { credentials }),
    // The digest of the whole is sent with it; many stores know no other.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts: attempts,
    // What fails is thrown, and logged where it is handled.
    logger: { trace () {}, debug () {}, info () {}, warn () {}, error () {} },
    requestHandler: { connectionTimeout: 5_000, socketTimeout: silence, httpAgent: { keepAlive: true, maxSockets: 256 }, httpsAgent: { keepAlive: true, maxSockets: 256 } }
  })
  const deletions = pLimit(10)
  const place = { Bucket: bucket }

  return {
    redirects: redirect,
    async put (key, received) {
      await translated(received.bytes <= most ? putWhole(key, received) : putInParts(key, received))
    },
    async read (key, range) {
      const { Body } = await translated(client.send(new GetObjectCommand({ ...place, Key: key, ...(range && { Range: `bytes=${range.start}-${range.end}` }) })), key)
      return Body as Readable
    },
    async presign (key, { type, disposition, seconds }) {
      return await getSignedUrl(client, new GetObjectCommand({ ...place, Key: key, ResponseContentType: type, ResponseContentDisposition: disposition }), { expiresIn: seconds })
    },
    async remove (keys) {
      await Promise.all(keys.map((key) => deletions(() => translated(client.send(new DeleteObjectCommand({ ...place, Key: key }))))))
    },
    async * list () {
      for (let after: string | undefined; ;) {
        const page = await translated(client.send(new ListObjectsV2Command({ ...place, ContinuationToken: after })))
        yield (page.Contents ?? []).map(({ Key, LastModified }) => ({ key: Key!, modifiedAt: LastModified! }))
        after = page.NextContinuationToken
        if (after === undefined) return
      }
    },
    async tidy (before) {
      const { Uploads = [] } = await translated(client.send(new ListMultipartUploadsCommand(place)))
      for (const { Key, UploadId, Initiated } of Uploads) {
        if (Initiated! < before) await translated(client.send(new AbortMultipartUploadCommand({ ...place, Key, UploadId })))
      }
    },
    async ping () {
      await client.send(new HeadBucketCommand(place), { abortSignal: AbortSignal.timeout(2_000) })
    },
    async close () { client.destroy() }
  }

  async function putWhole (key: string, { path, bytes, sha256 }: Received): Promise<void> {
    await again(() => fromFile(path, {}, async (Body, abortSignal) => {
      const command = new PutObjectCommand({ ...place, Key: key, Body, ContentLength: bytes, ContentType: 'application/octet-stream', ChecksumSHA256: Buffer.from(sha256, 'hex').toString('base64') })
      // Signed with the request, so that a store that knows no checksums refuses what changed on the way, too.
      command.middlewareStack.add((next) => async (args) => {
        (args.request as { headers: Record<string, string> }).headers['x-amz-content-sha256'] = sha256
        return await next(args)
      }, { step: 'build' })
      await client.send(command, { abortSignal })
    }))
  }

  async function putInParts (key: string, { path, bytes }: Received): Promise<void> {
    const { UploadId } = await client.send(new CreateMultipartUploadCommand({ ...place, Key: key, ContentType: 'application/octet-stream' }))
    try {
      const Parts: CompletedPart[] = []
      for (let start = 0; start < bytes; start += most) {
        const end = Math.min(start + most, bytes) - 1
        const PartNumber = Parts.length + 1
        const { ETag } = await again(() => fromFile(path, { start, end }, (Body, abortSignal) =>
          client.send(new UploadPartCommand({ ...place, Key: key, UploadId, PartNumber, Body, ContentLength: end - start + 1 }), { abortSignal })))
        Parts.push({ PartNumber, ETag })
      }
      await client.send(new CompleteMultipartUploadCommand({ ...place, Key: key, UploadId, MultipartUpload: { Parts } }))
    } catch (error) {
      // What stays behind all the same goes when the store is tidied.
      await client.send(new AbortMultipartUploadCommand({ ...place, Key: key, UploadId })).catch(() => {})
      throw error
    }
  }
}

/** Sends a file, or a part of it. The client waits for ever for a stream that fails, so it is told. */
async function fromFile<T> (path: string, range: Partial<Range>, send: (body: Readable, signal: AbortSignal) => Promise<T>): Promise<T> {
  const file = await open(path)
  const broken = new AbortController()
  const body = file.createReadStream({ ...range, highWaterMark: 128 * 1024 })
  body.on('error', (error) => broken.abort(error))
  try {
    return await send(body, broken.signal)
  } finally {
    body.destroy()
  }
}

/** The client repeats what has no stream in it; a stream has to be opened anew. */
async function again<T> (work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
      if (attempt === attempts || (status !== undefined && status >= 400 && status < 500)) throw error
      await sleep(Math.random() * 200 * 2 ** attempt)
    }
  }
}

async function translated<T> (work: Promise<T>, key?: string): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (key !== undefined && (error as Error).name === 'NoSuchKey') throw new BlobMissing(key)
    throw Object.assign(unavailable('The store of files is out of reach; try again.'), { cause: error })
  }
}
