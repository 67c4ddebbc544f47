// How long to wait before a failed request to a provider is retried, and how long a provider that is down is
// left out.
import type { ProviderFailure } from './errors.ts'

/** In milliseconds. */
const minDelay = 500
/** A request is not retried if the provider asks for a longer pause. */
const maxDelay = 10_000
/** The first and the longest rest of a provider that is down, in milliseconds. */
const minRest = 2_000
const maxRest = 60_000

/**
 * Milliseconds with jitter; null if the request must not be retried. `failures` counts the failed attempts so
 * far.
 */
export function retryDelay(
  { retryable, retryAfter }: ProviderFailure,
  failures: number,
  maxRetries: number,
): number | null {
  if (!retryable || failures > maxRetries) return null
  const backoff = Math.min(minDelay * 2 ** (failures - 1), maxDelay) * (0.5 + Math.random() / 2)
  if (retryAfter === null) return backoff
  return retryAfter > maxDelay ? null : retryAfter + (Math.random() * minDelay) / 2
}

/** Milliseconds for which a provider gets no requests. `failures` counts those since its last answer. */
export function restAfter({ retryAfter }: Pick<ProviderFailure, 'retryAfter'>, failures: number): number {
  return Math.min(Math.max(minRest * 2 ** (failures - 1), retryAfter ?? 0), maxRest)
}
