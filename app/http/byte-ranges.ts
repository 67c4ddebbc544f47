// Answers with bytes (RFC 9110, sections 13 and 14): whole, one range of them, or nothing where the client has them already.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { rangeNotSatisfiable } from '../../infra/errors.ts'
import type { Bytes } from '../../infra/contract/operation.ts'
import { matches, noneMatches } from './etag.ts'

interface Range {
  start: number
  end: number
}

export async function sendContent(
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
  // An address is for GET alone.
  if (content.address !== undefined && !isHead)
    return reply
      .code(302)
      .headers({ location: await content.address(), 'cache-control': 'no-store' })
      .send()
  const length = range === null ? bytes : range.end - range.start + 1
  // Opened before anything is said of it: a refusal has none of these fields.
  const stream = isHead ? Readable.from([]) : whole(await content.open(range ?? undefined), length, reply)
  reply.headers({ ...headers, 'content-type': type, 'content-length': length })
  if (range !== null) reply.header('content-range', `bytes ${range.start}-${range.end}/${bytes}`)
  return reply.code(range === null ? 200 : 206).send(stream)
}

/** A store that has lost some of the bytes must not look to the client like one that is slow: the connection is cut. */
function whole(stream: Readable & { bytesRead?: number }, length: number, reply: FastifyReply): Readable {
  return stream.once('end', () => {
    if (stream.bytesRead !== undefined && stream.bytesRead < length)
      reply.raw.destroy(new Error('fewer bytes than the file has'))
  })
}

function isUnchanged({ headers }: FastifyRequest, etag: string, modified: Date): boolean {
  if (headers['if-none-match'] !== undefined) return noneMatches(headers['if-none-match'], etag)
  const since = headers['if-modified-since']
  return since !== undefined && modified.getTime() <= Date.parse(since)
}

/**
 * The range to send, or null for the whole: where none is asked for, several are, it is malformed, or If-Range forbids it.
 * Read here because range-parser answers 416 where the suffix is longer than the file, or the range is malformed.
 */
function rangeOf({ headers }: FastifyRequest, etag: string, modified: Date, bytes: number): Range | null {
  const { range } = headers
  if (range === undefined || !stillHolds(headers['if-range'] as string | undefined, etag, modified))
    return null
  const [, first, last] = /^bytes=[ \t]*(?=\d*-\d|\d)(\d*)-(\d*)[ \t]*$/i.exec(range) ?? []
  if (first === undefined || (first !== '' && last !== '' && Number(last) < Number(first))) return null
  // The last so many bytes; nothing has no range that could be named.
  if (first === '' && Number(last) > 0)
    return bytes === 0 ? null : { start: Math.max(0, bytes - Number(last)), end: bytes - 1 }
  if (first === '' || Number(first) >= bytes) throw rangeNotSatisfiable(bytes)
  return { start: Number(first), end: Math.min(last === '' ? Infinity : Number(last), bytes - 1) }
}

/** If-Range: strong comparison of an ETag, or exactly the date. */
function stillHolds(header: string | undefined, etag: string, modified: Date): boolean {
  if (header === undefined) return true
  return header.includes('"') ? matches(header, etag) : Date.parse(header) === modified.getTime()
}
