// Repeats work that failed for a temporary reason.
import { setTimeout as sleep } from 'node:timers/promises'

export interface RetryOptions {
  /** Maximum number of attempts, the first included. */
  attempts: number
  /** Milliseconds to wait after a failed attempt, which are counted from 1. */
  delayMs(attempt: number): number
  shouldRetry(error: unknown): boolean
  /** When it aborts, the current wait ends, and the next failure is final. */
  signal?: AbortSignal
  /** Whether the wait keeps the process alive. Default true. */
  ref?: boolean
}

/** Runs `work` until it succeeds. Throws the error of the last attempt. */
export async function retry<T>(
  work: (attempt: number) => Promise<T>,
  { attempts, delayMs, shouldRetry, signal, ref = true }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(attempt)
    } catch (error) {
      if (attempt >= attempts || signal?.aborted === true || !shouldRetry(error)) throw error
    }
    await sleep(delayMs(attempt), undefined, { signal, ref }).catch(() => {})
  }
}
