// What ends a request to an upstream: the caller who leaves, and the times that it may take. One signal says so, and nothing
// of it is left on the caller's.
import { TimedOut } from './failures.ts'

export interface Deadlines {
  /** Aborted with the caller's reason, or TimedOut. */
  signal: AbortSignal
  /** The answer has begun: from now on the time between its pieces counts. */
  begin (): void
  /** Waits for the next piece, while the time for it runs. */
  next<T> (iterator: AsyncIterator<T>): Promise<IteratorResult<T>>
  /** The answer is whole: what may still come has this long, in ms. */
  finish (milliseconds: number): void
  end (): void
}

/** Times in seconds. */
export interface Times { whole: number, first: number, idle: number }

export function createDeadlines (caller: AbortSignal | undefined, times: Times): Deadlines {
  const cut = new AbortController()
  const leave = (): void => cut.abort(caller!.reason)
  const expire = (message: string): void => cut.abort(new TimedOut(message))
  const whole = setTimeout(expire, times.whole * 1000, `its answer took more than ${times.whole} s`)
  const beginning = setTimeout(expire, times.first * 1000, `its answer did not begin within ${times.first} s`)
  let finishing: NodeJS.Timeout | undefined
  let begun = false
  if (caller?.aborted) leave()
  else caller?.addEventListener('abort', leave, { once: true })

  return {
    signal: cut.signal,
    begin () {
      begun = true
      clearTimeout(beginning)
    },
    async next (iterator) {
      const idle = begun ? setTimeout(expire, times.idle * 1000, `its answer stopped for ${times.idle} s`) : undefined
      try {
        return await iterator.next()
      } finally {
        clearTimeout(idle)
      }
    },
    finish (milliseconds) {
      finishing ??= setTimeout(expire, milliseconds, 'its answer does not end')
    },
    end () {
      for (const timer of [whole, beginning, finishing]) clearTimeout(timer)
      caller?.removeEventListener('abort', leave)
    }
  }
}
