/**
 * A function that runs `work`, one run at a time. Calls during a run cause one more run after it.
 * @param onError receives the errors of `work`.
 */
export function coalesce(work: () => Promise<unknown>, onError: (error: Error) => void): () => void {
  let running = false
  let requested = false
  const run = async (): Promise<void> => {
    running = true
    while (requested) {
      requested = false
      await work().catch(onError)
    }
    running = false
  }
  return () => {
    requested = true
    if (!running) void run()
  }
}
