// Time and randomness, replaceable in tests.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Rejects with the signal's reason if it is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** In [0, 1). */
  random(): number
}

export const systemClock: Clock = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const stop = (): void => {
        clearTimeout(timer)
        reject(signal!.reason)
      }
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop)
        resolve()
      }, milliseconds)
      signal?.addEventListener('abort', stop, { once: true })
    }),
}

/**
 * Exponential backoff with full jitter: up to 0.5 s after the first failure, doubled each time, at most 8
 * s.
 */
export function backOff(failures: number, clock: Clock): number {
  return clock.random() * Math.min(8000, 500 * 2 ** failures)
}
