// Steps on the main thread take turns by user, so that many of one user do not delay the requests of others:
// a chunk of a large body or of a download, the parsing of a large body. A user has one step in each
// iteration of the event loop, and further ones while the iteration is short.
import { Transform, type Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'

/** Milliseconds after which only the first step of each user still starts in an iteration. */
const sliceMs = 0.2

/**
 * The further steps of each user. A user without an entry has had no step in this iteration of the event
 * loop.
 */
const waiting = new Map<string, Array<() => void>>()

/** When the first step of this iteration started. */
let startedAt = 0

/** Calls `step` in this iteration of the event loop, or in the user's next turn. It must not throw. */
export function takeTurn(request: FastifyRequest, step: () => void): void {
  const steps = beginTurn(request)
  if (steps === null) step()
  else steps.push(step)
}

/** Null if the user may go on in this iteration, else a promise of the user's next turn. */
export function turn(request: FastifyRequest): Promise<void> | null {
  const steps = beginTurn(request)
  return steps === null ? null : new Promise((resolve) => steps.push(resolve))
}

/** Null if the user's step may start now, else the steps of the user that wait. */
function beginTurn({ principal, ip }: FastifyRequest): Array<() => void> | null {
  const user = principal?.accountId ?? ip
  const steps = waiting.get(user)
  if (steps !== undefined) return steps.length === 0 && hasTime() ? null : steps
  if (waiting.size === 0) {
    startedAt = performance.now()
    setImmediate(startIteration)
  }
  waiting.set(user, [])
  return null
}

function startIteration(): void {
  startedAt = performance.now()
  for (const [user, steps] of waiting) if (steps.length === 0) waiting.delete(user)
  if (waiting.size === 0) return
  setImmediate(startIteration)
  startRound()
}

/** A step of each user that waits, and again while there is time. */
function startRound(): void {
  let isOver = true
  for (const steps of waiting.values()) {
    steps.shift()?.()
    isOver &&= steps.length === 0
  }
  // After all that the steps have started.
  if (!isOver) queueMicrotask(() => process.nextTick(() => hasTime() && startRound()))
}

function hasTime(): boolean {
  return performance.now() - startedAt < sliceMs
}

/** Passes the bytes on; each chunk waits for a turn of the user. */
export function inTurns(request: FastifyRequest, source: Readable): Readable {
  const chunks = new Transform({
    transform: (chunk, _encoding, callback) => takeTurn(request, () => callback(null, chunk)),
  })
  source.once('error', (error) => chunks.destroy(error))
  // A reader has its own listener. One that has stopped, as after 413, needs no error; without this listener
  // the error would end the process.
  chunks.on('error', () => {})
  chunks.once('close', () => source.destroy())
  return source.pipe(chunks)
}
