// Sends bytes (RFC 9110, sections 13 and 14): all of them, one range, or 304 when the client has them
// already.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { rangeNotSatisfiable } from '../../infra/errors.ts'
import type { Bytes } from '../../infra/contract/operation.ts'
import { inTurns } from './loop-turns.ts'
import { matches, noneMatches } from './etag.ts'

interface Range {
  start: number
  end: number
}

export async function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  content: Bytes,
): Promise<FastifyReply> {
  const { type, bytes, etag } = content
  const modified = new Date(Math.floor(content.modifiedAt.getTime() / 1000) * 1000)
  const headers = {
    etag,
    'last-modified': modified.toUTCString(),
    'accept-ranges': 'bytes',
    ...content.headers,
  }
  if (isUnchanged(request, etag, modified)) return reply.code(304).headers(headers).send()
  const isHead = request.method === 'HEAD'
  const range = isHead ? null : rangeOf(request, etag, modified, bytes)
  // Only a GET is redirected: a presigned URL is valid for one method.
  if (content.address !== undefined && !isHead)
    return reply
      .code(302)
      .headers({ location: await content.address(), 'cache-control': 'no-store' })
      .send()
  const length = range === null ? bytes : range.end - range.start + 1
  // Opened before any header is set, since an error response must not carry them.
  const stream = isHead
    ? Readable.from([])
    : requireWhole(await content.open(range ?? undefined), length, reply)
  reply.headers({ ...headers, 'content-type': type, 'content-length': length })
  if (range !== null) reply.header('content-range', `bytes ${range.start}-${range.end}/${bytes}`)
  return reply.code(range === null ? 200 : 206).send(inTurns(request, stream))
}

/**
 * Cuts the connection when the store has fewer bytes than declared; otherwise the client would wait for more.
 */
function requireWhole(
  stream: Readable & { bytesRead?: number },
  length: number,
  reply: FastifyReply,
): Readable {
  return stream.once('end', () => {
    if (stream.bytesRead !== undefined && stream.bytesRead < length)
      reply.raw.destroy(new Error('the store has fewer bytes than the file'))
  })
}

function isUnchanged({ headers }: FastifyRequest, etag: string, modified: Date): boolean {
  if (headers['if-none-match'] !== undefined) return noneMatches(headers['if-none-match'], etag)
  const since = headers['if-modified-since']
  return since !== undefined && modified.getTime() <= Date.parse(since)
}

/**
 * The range to send. null for the whole: without Range, with several ranges, with a malformed one, or when
 * If-Range does not match. Parsed here because range-parser returns 416 for a long suffix and for a malformed
 * range.
 */
function rangeOf({ headers }: FastifyRequest, etag: string, modified: Date, bytes: number): Range | null {
  const { range } = headers
  if (range === undefined || !ifRangeMatches(headers['if-range'] as string | undefined, etag, modified))
    return null
  const [, first, last] = /^bytes=[ \t]*(?=\d*-\d|\d)(\d*)-(\d*)[ \t]*$/i.exec(range) ?? []
  if (first === undefined || (first !== '' && last !== '' && Number(last) < Number(first))) return null
  // A suffix range: the last n bytes. An empty file has no range.
  if (first === '' && Number(last) > 0)
    return bytes === 0 ? null : { start: Math.max(0, bytes - Number(last)), end: bytes - 1 }
  if (first === '' || Number(first) >= bytes) throw rangeNotSatisfiable(bytes)
  return { start: Number(first), end: Math.min(last === '' ? Infinity : Number(last), bytes - 1) }
}

/** If-Range: an ETag by strong comparison, or exactly the date. */
function ifRangeMatches(header: string | undefined, etag: string, modified: Date): boolean {
  if (header === undefined) return true
  return header.includes('"') ? matches(header, etag) : Date.parse(header) === modified.getTime()
}
