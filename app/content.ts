// Answers with bytes (RFC 9110, sections 13 and 14): whole, one range of them, or nothing where the client has them already.
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import parseRange from 'range-parser'
import { rangeNotSatisfiable } from '../services/errors.ts'
import type { Bytes } from '../services/operation.ts'
import { matches, noneMatches } from './conditional.ts'

export async function sendContent (request: FastifyRequest, reply: FastifyReply, content: Bytes): Promise<FastifyReply> {
  const { type, bytes, etag, headers } = content
  const modified = new Date(Math.floor(content.modifiedAt.getTime() / 1000) * 1000)
  reply.headers({ etag, 'last-modified': modified.toUTCString(), 'accept-ranges': 'bytes', ...headers })
  if (isUnchanged(request, etag, modified)) return reply.code(304).send()
  reply.header('content-type', type)
  const range = request.method === 'HEAD' ? null : rangeOf(request, etag, modified, bytes)
  if (range !== null) reply.code(206).header('content-range', `bytes ${range.start}-${range.end}/${bytes}`)
  else reply.code(200)
  reply.header('content-length', range === null ? bytes : range.end - range.start + 1)
  return reply.send(request.method === 'HEAD' ? Readable.from([]) : await content.open(range ?? undefined))
}

function isUnchanged ({ headers }: FastifyRequest, etag: string, modified: Date): boolean {
  if (headers['if-none-match'] !== undefined) return noneMatches(headers['if-none-match'], etag)
  const since = headers['if-modified-since']
  return since !== undefined && modified.getTime() <= Date.parse(since)
}

/** The range to send, or null for the whole: where none is asked for, several are, it is malformed, or If-Range forbids it. */
function rangeOf ({ headers }: FastifyRequest, etag: string, modified: Date, bytes: number): { start: number, end: number } | null {
  const { range } = headers
  if (range === undefined || !stillHolds(headers['if-range'] as string | undefined, etag, modified)) return null
  const parsed = parseRange(bytes, range)
  if (parsed === -1) throw rangeNotSatisfiable(bytes)
  if (parsed === -2 || parsed.type !== 'bytes' || parsed.length !== 1) return null
  return parsed[0]
}

/** If-Range: strong comparison of an ETag, or exactly the date. */
function stillHolds (header: string | undefined, etag: string, modified: Date): boolean {
  if (header === undefined) return true
  return header.includes('"') ? matches(header, etag) : Date.parse(header) === modified.getTime()
}
