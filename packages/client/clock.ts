// Time and chance as calls use them; a test gives others.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Rejects with the signal's reason when it is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>
  /** From 0 up to 1. */
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

/** Exponential with full jitter: anything up to half a second after the first failure, then up to twice that, at most 8 s. */
export function backOff(failures: number, clock: Clock): number {
  return clock.random() * Math.min(8000, 500 * 2 ** failures)
}
