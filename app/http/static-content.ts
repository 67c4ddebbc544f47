// Responses that depend only on the server. Their bytes, ETags and compressed bytes are created once and
// kept, so that a request costs no more than a look-up.
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { varyBy } from './content-negotiation.ts'
import { etagOf, noneMatches } from './etag.ts'
import { inTurns } from './loop-turns.ts'

const chunkBytes = 64 * 1024

export interface StaticContent {
  headers: Record<string, string>
  bytes: Buffer
  etag: string
  /** null for bytes that are compressed already. */
  gzipped: Buffer | null
}

/** @param headers the header fields of the response, with its `content-type`. */
export async function staticContent(
  body: string | Buffer,
  headers: Record<string, string>,
  { compressed = false } = {},
): Promise<StaticContent> {
  const bytes = Buffer.from(body)
  const gzipped = compressed ? null : await promisify(gzip)(bytes, { level: 9 })
  return { headers, bytes, etag: etagOf(bytes), gzipped }
}

/** Answers with the bytes, compressed if the client accepts gzip, or with 304. */
export function sendStatic(
  request: FastifyRequest,
  reply: FastifyReply,
  { headers, bytes, etag: etagOfBytes, gzipped }: StaticContent,
): FastifyReply {
  const zipped = gzipped !== null && acceptsGzip(request.headers['accept-encoding'])
  // A strong ETag identifies the sent bytes, so each content coding has its own.
  const etag = zipped ? etagOfBytes.replace(/"$/, '-gzip"') : etagOfBytes
  reply.headers(headers).header('etag', etag)
  if (gzipped !== null) varyBy(reply, 'accept-encoding')
  if (noneMatches(request.headers['if-none-match'], etag))
    return reply.code(304).removeHeader('content-type').send()
  if (zipped) reply.header('content-encoding', 'gzip')
  return sendInTurns(request, reply, zipped ? gzipped : bytes)
}

/** Many clients may ask for many megabytes at once. */
function sendInTurns(request: FastifyRequest, reply: FastifyReply, bytes: Buffer): FastifyReply {
  if (bytes.length <= chunkBytes || request.method === 'HEAD') return reply.send(bytes)
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, i) =>
    bytes.subarray(i * chunkBytes, (i + 1) * chunkBytes),
  )
  return reply.header('content-length', bytes.length).send(inTurns(request, Readable.from(chunks)))
}

function acceptsGzip(header: string | undefined): boolean {
  return /(?:^|,)\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*(?:,|$))[^,]*)?(?:,|$)/i.test(header ?? '')
}
