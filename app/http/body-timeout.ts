// How long a request's body may take to arrive: a body that is read whole has the request's time-out, a file has a longer
// one and must never stop for that long. The headers are Node's own to watch.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requestTimeout } from '../../infra/errors.ts'
import { isStreamed } from './validation.ts'

export interface Patience {
  /** Milliseconds for the whole of an ordinary body, and for one silence in a streamed one. */
  request: number
  /** Milliseconds for the whole of a streamed body. */
  upload: number
  /** Milliseconds after which a connection on which nothing moves is closed. */
  idle: number
}

/** Milliseconds in which a client that is still sending comes to read its answer. */
const farewell = 5_000

/**
 * Fails the body of the request with 408 when it takes too long. What is done with a file that has arrived has the time of
 * an upload again, in which nothing needs to move on the connection.
 */
export function watchBody(
  request: FastifyRequest,
  { raw: response }: FastifyReply,
  patience: Patience,
): void {
  const {
    raw,
    routeOptions: {
      config: { operation },
    },
  } = request
  if (!hasBody(raw)) return
  const streamed = operation !== undefined && isStreamed(operation, request)
  const started = performance.now()
  let heard = started
  let bytes = raw.socket.bytesRead
  const timer = setInterval(
    () => {
      if (raw.complete || raw.destroyed) return clearInterval(timer)
      const now = performance.now()
      // What waits to be read is not the client's silence.
      if (raw.socket.bytesRead !== bytes || raw.readableLength > 0) heard = now
      bytes = raw.socket.bytesRead
      if (now - (streamed ? heard : started) < patience.request && now - started < patience.upload) return
      clearInterval(timer)
      // Whoever reads it hears of it, and the connection stays open for the answer; a body that nobody reads has none to come.
      if (raw.listenerCount('error') > 0) raw.emit('error', requestTimeout())
      else raw.socket.destroy()
    },
    Math.min(1_000, patience.request / 4),
  )
  timer.unref()
  raw.once('end', () => {
    clearInterval(timer)
    if (streamed) awaitAnswer(response, patience)
  })
  raw.once('close', () => clearInterval(timer))
}

/** Until the answer is sent the connection is not idle, however still it is. */
function awaitAnswer(response: ServerResponse, { upload, idle }: Patience): void {
  const { socket } = response
  if (socket === null || response.writableEnded) return
  socket.setTimeout(upload)
  // Before Node sets the time that a connection may wait for its next request.
  response.prependOnceListener('finish', () => socket.setTimeout(idle))
}

/**
 * What is still arriving when its answer is given, whoever gave it, is read on for a moment, so that the client comes to read
 * the answer, and then cut off.
 */
export function abandonBodies(server: Server): void {
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request)) response.once('finish', () => abandon(request))
  })
}

function abandon(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  // Nobody waits for it any more.
  request.on('error', () => {})
  request.unpipe()
  request.resume()
  setTimeout(() => {
    if (!request.complete) request.socket.destroy()
  }, farewell).unref()
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}
