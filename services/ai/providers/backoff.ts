// How long to wait before an upstream that failed is asked again.
import type { Failure } from './errors.ts'

/** Milliseconds. An upstream that wants more than the longest is not waited for. */
const first = 500
const longest = 10_000

/** In milliseconds, with jitter; null where it is not asked again. `tries` counts those that have failed. */
export function delayAfter(
  { retryable, retryAfter }: Failure,
  tries: number,
  retries: number,
): number | null {
  if (!retryable || tries > retries) return null
  const backoff = Math.min(first * 2 ** (tries - 1), longest) * (0.5 + Math.random() / 2)
  if (retryAfter === null) return backoff
  return retryAfter > longest ? null : retryAfter + (Math.random() * first) / 2
}
