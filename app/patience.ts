// How long a request's body may take to arrive: a body that is read whole has the request's time-out, a file has a longer
// one and must never stop for that long. The headers are Node's own to watch.
import type { FastifyRequest } from 'fastify'
import { requestTimeout } from '../services/errors.ts'

export interface Patience {
  /** Milliseconds for the whole of an ordinary body, and for one silence in a streamed one. */
  request: number
  /** Milliseconds for the whole of a streamed body. */
  upload: number
}

/** Fails the body of the request with 408 when it takes too long. */
export function watchBody ({ raw, routeOptions }: FastifyRequest, patience: Patience): void {
  if (raw.headers['content-length'] === undefined && raw.headers['transfer-encoding'] === undefined) return
  const streamed = routeOptions.config.operation?.body?.streamed === true
  const started = performance.now()
  let heard = started
  let bytes = raw.socket.bytesRead
  const timer = setInterval(() => {
    if (raw.complete || raw.destroyed) return clearInterval(timer)
    const now = performance.now()
    if (raw.socket.bytesRead !== bytes) heard = now
    bytes = raw.socket.bytesRead
    if (now - (streamed ? heard : started) < patience.request && now - started < patience.upload) return
    clearInterval(timer)
    // Whoever reads it hears of it; the connection stays open for the answer.
    raw.emit('error', requestTimeout())
  }, Math.min(1_000, patience.request / 4))
  timer.unref()
  raw.once('end', () => clearInterval(timer))
  raw.once('close', () => clearInterval(timer))
}

/**
 * What is still arriving when its answer is given is read on for a moment, so that the client comes to read the answer, and
 * then cut off.
 */
export function abandonBody ({ raw }: FastifyRequest): void {
  if (raw.complete || raw.destroyed) return
  raw.unpipe()
  raw.resume()
  setTimeout(() => { if (!raw.complete) raw.socket.destroy() }, 5_000).unref()
}
