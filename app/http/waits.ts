// What a request has waited for before its work, for the log.
import type { FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    waits: Waits | null
  }
}

/**
 * `pace`: its user sends requests faster than the limit of a minute allows. `connection`: the user has as
 * many connections as one user may have.
 */
type Reason = 'pace' | 'connection'
type Waits = Partial<Record<Reason, number>>

/** Adds a wait; one under a millisecond does not count. */
export function noteWait(request: FastifyRequest, reason: Reason, milliseconds: number): void {
  if (milliseconds < 1) return
  request.waits ??= {}
  request.waits[reason] = (request.waits[reason] ?? 0) + milliseconds
}

/** The waits for the log, in whole milliseconds; undefined without one. */
export function loggedWaits({ waits }: FastifyRequest): Waits | undefined {
  if (waits === null) return undefined
  return Object.fromEntries(Object.entries(waits).map(([reason, ms]) => [reason, Math.round(ms)]))
}
