// How many requests of a user a server works on at once, with all keys of the user. A few run, the others
// wait: a user with many connections never holds all connections to the database, so the requests of other
// users do not wait for them.
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { FairSemaphore } from '../../infra/fair-semaphore.ts'

/** Of the connections to the database, those that one user may use at once. */
const shareOfConnections = 0.4
const maxWaitMs = 15_000

/** Other requests may last for minutes, and have limits of their own: uploads, answers of AI models. */
const policies = new Set<string | null>(['default', 'write'])

export function takesTurns({ rateLimit }: OperationInfo): boolean {
  return policies.has(rateLimit)
}

export interface RequestTurnsOptions {
  /** Requests of a user that may be open at once. */
  perUser: number
  /** Connections to the database. */
  connections: number
}

export function createRequestTurns({ perUser, connections }: RequestTurnsOptions): FairSemaphore {
  const running = Math.min(perUser, Math.max(1, Math.floor(connections * shareOfConnections)))
  return new FairSemaphore({
    name: 'requests',
    total: Infinity,
    perUser: running,
    maxWaiting: perUser - running,
    maxWaitMs,
  })
}
