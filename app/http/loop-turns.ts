// Steps on the main thread take turns by user, so that many of one user do not delay the requests of others:
// the start of a request, a chunk of a large body or of a download, the parsing of a large body. A user has
// one step in each iteration of the event loop.
import { Transform, type Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'

/**
 * The further steps of each user. A user without an entry has had no step in this iteration of the event
 * loop.
 */
const waiting = new Map<string, Array<() => void>>()

/** Calls `step` in this iteration of the event loop, or in the user's next turn. It must not throw. */
export function takeTurn({ principal, ip }: FastifyRequest, step: () => void): void {
  const user = principal?.userId ?? ip
  const steps = waiting.get(user)
  if (steps !== undefined) {
    steps.push(step)
    return
  }
  if (waiting.size === 0) setImmediate(startIteration)
  waiting.set(user, [])
  step()
}

/** Resolves in this iteration of the event loop, or in the user's next turn. */
export async function turn(request: FastifyRequest): Promise<void> {
  await new Promise<void>((resolve) => takeTurn(request, resolve))
}

function startIteration(): void {
  for (const [user, steps] of waiting) {
    const step = steps.shift()
    if (step === undefined) waiting.delete(user)
    else step()
  }
  if (waiting.size > 0) setImmediate(startIteration)
}

/** The same bytes, whose chunks wait for the user's turns. */
export function inTurns(request: FastifyRequest, source: Readable): Readable {
  const chunks = new Transform({
    transform: (chunk, _encoding, callback) => takeTurn(request, () => callback(null, chunk)),
  })
  source.once('error', (error) => chunks.destroy(error))
  chunks.once('close', () => source.destroy())
  return source.pipe(chunks)
}
