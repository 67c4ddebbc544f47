// How many requests of a user a server works on at once, with all keys of the user. A few run, as many as the
// user may have connections to the database; the others wait.
import type { OperationInfo } from '../../infra/contract/operation.ts'
import { connectionsPerUser } from '../../infra/database/user-share.ts'
import { FairSemaphore } from '../../infra/concurrency/fair-semaphore.ts'

const maxWaitMs = 15_000

/**
 * After a longer request, the user's next waiting request is delayed by the duration of the longer one, up to
 * the maximum: slow requests of one user take half of the time, and other users the other half.
 */
const shortMs = 4
const maxPauseMs = 50

/**
 * Other requests may last for minutes, and have limits of their own: uploads, answers of AI models. Their
 * transactions take turns (user-share.ts).
 */
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
  const running = Math.min(perUser, connectionsPerUser(connections))
  return new FairSemaphore({
    name: 'requests',
    total: Infinity,
    perUser: running,
    maxWaiting: perUser - running,
    maxWaitMs,
    pauseAfter: (milliseconds) => (milliseconds < shortMs ? 0 : Math.min(milliseconds, maxPauseMs)),
  })
}
