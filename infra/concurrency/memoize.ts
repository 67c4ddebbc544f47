/** Caches the result of `work` for `ttlMs`. Calls at once run it once. */
export function memoize<T>(ttlMs: number, work: () => Promise<T>): () => Promise<T> {
  let cached: Promise<T> | undefined
  let startedAt = -Infinity
  return () => {
    if (cached === undefined || performance.now() - startedAt > ttlMs) {
      startedAt = performance.now()
      cached = work()
    }
    return cached
  }
}
