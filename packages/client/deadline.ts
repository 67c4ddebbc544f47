// The time limit of a call, including all retries and waits.
import type { Clock } from './clock.ts'
import { TimeoutError } from './error.ts'

export interface Deadline {
  /** Aborted at the deadline or by the caller's signal. */
  signal: AbortSignal
  /** Milliseconds since 1970; Infinity if there is no deadline. */
  at: number
  /** Rejects when the signal is aborted, even if the work ignores the signal. */
  within<T>(work: Promise<T>): Promise<T>
  /** Stops the timer when the call is complete. The caller's signal stays in effect. */
  clear(): void
}

/** @param timeout in milliseconds; null for no deadline. */
export function startDeadline(
  operation: string,
  timeout: number | null,
  clock: Clock,
  signal?: AbortSignal,
): Deadline {
  const late = new AbortController()
  const expire = (): void =>
    late.abort(new TimeoutError(`${operation} took longer than ${timeout} ms.`, { operation }))
  const timer = timeout === null ? undefined : setTimeout(expire, timeout)
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
    clear: () => clearTimeout(timer),
  }
}
