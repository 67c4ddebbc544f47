// Aborts a transfer that makes no progress or takes too long.

export interface StallTimeoutOptions {
  /** Milliseconds without progress after which the transfer is aborted. */
  idleMs: number
  /** Milliseconds that the whole transfer may take. Default: unlimited. */
  totalMs?: number
  /** Whether the other side is not to blame for the lack of progress. */
  isPaused?: () => boolean
  abort: () => void
}

/**
 * Polls `progress`, which returns a counter such as the bytes sent.
 * @returns a function that stops the timeout.
 */
export function startStallTimeout(
  progress: () => number,
  { idleMs, totalMs = Infinity, isPaused = () => false, abort }: StallTimeoutOptions,
): () => void {
  const startedAt = performance.now()
  let progressedAt = startedAt
  let last = progress()
  const timer = setInterval(
    () => {
      const now = performance.now()
      if (progress() !== last || isPaused()) progressedAt = now
      last = progress()
      if (now - progressedAt < idleMs && now - startedAt < totalMs) return
      clearInterval(timer)
      abort()
    },
    Math.min(1_000, idleMs / 4),
  )
  timer.unref()
  return () => clearInterval(timer)
}
