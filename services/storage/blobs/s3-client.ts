// The S3 client, and what all requests to the store share: the bucket, time limits and error handling.
import { S3Client } from '@aws-sdk/client-s3'
import type { S3Config } from '../../../infra/config/config.ts'
import { BlobNotFound, storeUnavailable } from './blob-store.ts'

export const maxAttempts = 3

/** A bucket, and how it is accessed. */
export interface S3Target {
  client: S3Client
  bucket: string
  /** Bytes. A larger file is a multipart upload with parts of this size. */
  partSize: number
  /** Milliseconds without progress after which a request is aborted. */
  idleTimeoutMs: number
}

export function createS3Client({ region, endpoint, credentials }: S3Config): S3Client {
  return new S3Client({
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
}

/** The options of a request with a short response: a time limit that includes the retries. */
export function withTimeout({ idleTimeoutMs }: S3Target): { abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(idleTimeoutMs) }
}

/** The HTTP status of the store's response; undefined when there was no response. */
export function statusOf(error: unknown): number | undefined {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode
}

/** @throws BlobNotFound for the missing object `key`; 503 for any other error. */
export async function translateErrors<T>(request: Promise<T>, key?: string): Promise<T> {
  try {
    return await request
  } catch (error) {
    if (key !== undefined && (error as Error).name === 'NoSuchKey') throw new BlobNotFound(key)
    throw storeUnavailable(error)
  }
}
