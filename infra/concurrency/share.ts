/** Calls `work` at most once in so many milliseconds. Callers in between get the same result. */
export function sharedFor<T>(milliseconds: number, work: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined
  let startedAt = -Infinity
  return () => {
    if (shared === undefined || performance.now() - startedAt > milliseconds) {
      startedAt = performance.now()
      shared = work()
    }
    return shared
  }
}
