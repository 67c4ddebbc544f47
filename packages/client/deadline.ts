// How long a call may take, with all its attempts and the waits between them.
import type { Clock } from './clock.ts'
import { DeadlineError } from './error.ts'

export interface Deadline {
  /** Aborted when the time is over or the caller wants no more. */
  signal: AbortSignal
  /** Milliseconds since 1970; Infinity where there is none. */
  at: number
  /** The same, or its end: whatever the work makes of the signal. */
  within<T>(work: Promise<T>): Promise<T>
  /** To be called when there is nothing to be cut short any more; the caller's signal still counts. */
  met(): void
}

/** @param timeout milliseconds; null for as long as it takes. */
export function startDeadline(timeout: number | null, clock: Clock, signal?: AbortSignal): Deadline {
  const late = new AbortController()
  const timer =
    timeout === null
      ? undefined
      : setTimeout(() => late.abort(new DeadlineError(`The call took longer than ${timeout} ms.`)), timeout)
  const over = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
  return {
    signal: over,
    at: timeout === null ? Infinity : clock.now() + timeout,
    within: async (work) => {
      const ended = new Promise<never>((_resolve, reject) => {
        if (over.aborted) reject(over.reason)
        over.addEventListener('abort', () => reject(over.reason), { once: true })
      })
      return await Promise.race([work, ended])
    },
    met: () => clearTimeout(timer),
  }
}
