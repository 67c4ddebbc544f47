// What ends a request to an upstream: the caller who leaves, and the times that it may take. One signal says so, and nothing
// of it is left on the caller's.
import { TimedOut } from './errors.ts'

export interface Deadlines {
  /** Aborted with the caller's reason, or TimedOut. */
  signal: AbortSignal
  /** Something of the answer has come: from now on the time until the next piece counts. */
  progress(): void
  /** Waits for what comes next, while the time for a piece runs; it stands still while nobody waits. */
  next<T>(iterator: AsyncIterator<T>): Promise<IteratorResult<T>>
  /** The answer is whole: what may still come has this long, in ms. */
  finish(milliseconds: number): void
  end(): void
}

/** Times in seconds. */
export interface Times {
  whole: number
  first: number
  idle: number
}

export function createDeadlines(caller: AbortSignal | undefined, times: Times): Deadlines {
  const cut = new AbortController()
  const leave = (): void => cut.abort(caller!.reason)
  const expire = (message: string): void => cut.abort(new TimedOut(message))
  const whole = setTimeout(expire, times.whole * 1000, `its answer took more than ${times.whole} s`)
  const beginning = setTimeout(expire, times.first * 1000, `its answer did not begin within ${times.first} s`)
  let finishing: NodeJS.Timeout | undefined
  let begun = false
  let waited = 0
  if (caller?.aborted) leave()
  else caller?.addEventListener('abort', leave, { once: true })

  return {
    signal: cut.signal,
    progress() {
      begun = true
      waited = 0
      clearTimeout(beginning)
    },
    async next(iterator) {
      const from = performance.now()
      const idle = begun
        ? setTimeout(expire, times.idle * 1000 - waited, `its answer stopped for ${times.idle} s`)
        : undefined
      try {
        return await iterator.next()
      } finally {
        clearTimeout(idle)
        waited += performance.now() - from
      }
    },
    finish(milliseconds) {
      finishing ??= setTimeout(expire, milliseconds, 'its answer does not end')
    },
    end() {
      for (const timer of [whole, beginning, finishing]) clearTimeout(timer)
      caller?.removeEventListener('abort', leave)
    },
  }
}
