// Reads objects from S3. The stream fails when the store stops sending.
import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { GetObjectCommand } from '@aws-sdk/client-s3'
import type { ByteRange } from './blob-store.ts'
import { translateErrors, type S3Target } from './s3-client.ts'
import { startStallTimeout } from './stall-timeout.ts'

/** @throws BlobNotFound, or 503 when the store is unreachable. */
export async function readObject(
  { client, bucket, idleTimeoutMs }: S3Target,
  key: string,
  range?: ByteRange,
): Promise<Readable> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), idleTimeoutMs)
  const command = new GetObjectCommand({
    Bucket: bucket,
    Key: key,
    ...(range && { Range: `bytes=${range.start}-${range.end}` }),
  })
  const { Body } = await translateErrors(client.send(command, { abortSignal: timeout.signal }), key).finally(
    () => clearTimeout(timer),
  )
  const body = Body as unknown as IncomingMessage
  const { socket } = body
  const stop = startStallTimeout(() => socket.bytesRead, {
    idleMs: idleTimeoutMs,
    // Received bytes that wait for a slow reader are not a stall of the store.
    isPaused: () => body.complete || body.readableLength > 0,
    abort: () => body.destroy(new Error('the S3 store stopped responding')),
  })
  return body.once('close', stop)
}
