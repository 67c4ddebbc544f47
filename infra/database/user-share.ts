// How many connections to the database the requests of one user take at once. The others wait without one, so
// that a user with many requests does not hold all connections, and other users do not wait for them.
import { availableParallelism } from 'node:os'
import { FairSemaphore } from '../concurrency/fair-semaphore.ts'

const share = 0.4
const maxWaiting = 10_000
const maxWaitMs = 15_000

/**
 * After work that took longer than `shortMs`, the user's next waiting work starts only after a pause of the
 * same length, at most `maxPauseMs`: slow statements and transactions of a user take at most half of the
 * time.
 */
const shortMs = 4
const maxPauseMs = 50

/**
 * How many connections of the pool one user may use. At most twice the CPUs that are left for PostgreSQL when
 * it is on the same machine: further statements of the user would only take CPU from those of other users.
 */
export function connectionsPerUser(poolSize: number, cpus = availableParallelism()): number {
  return Math.max(1, Math.min(Math.floor(poolSize * share), 2 * (cpus - 1)))
}

export function createUserTurns(poolSize: number): FairSemaphore {
  return new FairSemaphore({
    name: 'requests',
    total: Infinity,
    perUser: connectionsPerUser(poolSize),
    maxWaiting,
    maxWaitMs,
    pauseAfter: (milliseconds) => (milliseconds < shortMs ? 0 : Math.min(milliseconds, maxPauseMs)),
  })
}
