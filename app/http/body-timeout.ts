// Time-outs of request bodies. A body that is read whole has the request time-out. A streamed body has the
// longer upload time-out, and must never pause for longer than the request time-out. Node itself limits the
// time for the headers.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requestTimeout } from '../../infra/errors.ts'
import { hasBody } from './request-headers.ts'
import { isStreamed } from './validation.ts'

export interface BodyTimeouts {
  /** Milliseconds for the whole of an ordinary body, and for one pause in a streamed one. */
  requestMs: number
  /** Milliseconds for the whole of a streamed body. */
  uploadMs: number
  /** Milliseconds after which an idle connection is closed. */
  idleMs: number
}

/**
 * Milliseconds in which a client that is still sending can read its response, before the connection is cut.
 */
const lingerMs = 5_000

/**
 * Fails the body of the request with 408 when it takes too long. While the server then works on an uploaded
 * file, the connection may be idle for the upload time-out.
 */
export function enforceBodyTimeout(
  request: FastifyRequest,
  { raw: response }: FastifyReply,
  timeouts: BodyTimeouts,
): void {
  const { raw } = request
  const { operation } = request.routeOptions.config
  if (!hasBody(raw)) return
  const streamed = operation !== undefined && isStreamed(operation, request)
  const startedAt = performance.now()
  let activeAt = startedAt
  let bytes = raw.socket.bytesRead
  const timer = setInterval(
    () => {
      if (isRead(raw)) return clearInterval(timer)
      const now = performance.now()
      // Bytes that wait to be read are not a pause of the client.
      if (raw.socket.bytesRead !== bytes || raw.readableLength > 0) activeAt = now
      bytes = raw.socket.bytesRead
      const waited = now - (streamed ? activeAt : startedAt)
      if (waited < timeouts.requestMs && now - startedAt < timeouts.uploadMs) return
      clearInterval(timer)
      // The reader of the body answers 408 on the open connection. Without a reader there is no response to
      // wait for.
      if (raw.listenerCount('error') > 0) raw.emit('error', requestTimeout())
      else raw.socket.destroy()
    },
    Math.min(1_000, timeouts.requestMs / 4),
  )
  timer.unref()
  raw.once('end', () => {
    clearInterval(timer)
    if (streamed) extendIdleTimeout(response, timeouts)
  })
  // After the response, the remaining body is drained and has no reader.
  response.once('close', () => clearInterval(timer))
}

/** Until the response is sent, the connection counts as active although nothing moves on it. */
function extendIdleTimeout(response: ServerResponse, { uploadMs, idleMs }: BodyTimeouts): void {
  const { socket } = response
  if (socket === null || response.writableEnded) return
  socket.setTimeout(uploadMs)
  // Runs before Node sets the keep-alive time-out of the connection.
  response.prependOnceListener('finish', () => socket.setTimeout(idleMs))
}

/**
 * Lingering close (RFC 9112, section 9.6): when a response is sent before its request body has arrived, the
 * remaining body is read and dropped for a moment, so that the client reads the response. Then the connection
 * is cut.
 */
export function drainUnreadBodies(server: Server): void {
  // Before the handlers, which may answer at once.
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!hasBody(request)) return
    const { socket } = request
    response.once('prefinish', () => {
      // Node closes both directions at once, and the client of an unread body then gets a reset connection
      // instead of the response.
      if (!isRead(request)) socket.destroySoon = () => socket.end()
    })
    response.once('finish', () => drain(request, response))
  })
}

function isRead({ complete, destroyed }: IncomingMessage): boolean {
  return complete || destroyed
}

function drain(request: IncomingMessage, response: ServerResponse): void {
  if (isRead(request)) return
  const { socket } = request
  // The body no longer has a reader, so its errors are ignored.
  request.on('error', () => {})
  request.unpipe()
  request.resume()
  setTimeout(() => {
    if (!request.complete || !response.shouldKeepAlive) socket.destroy()
  }, lingerMs).unref()
}
