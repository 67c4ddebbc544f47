// The loop of a background worker: it polls for due work, tracks the running jobs, and stops in the same way
// for every worker.

/** The background workers of a process. */
export interface BackgroundWorker {
  /** Polls now instead of after the interval. Call it when work may be due. */
  wake(): void
  start(): void
  /**
   * Stops polling and waits for the running jobs. After `drainTimeoutMs` it aborts them. Jobs that did not
   * finish are run again by another process.
   */
  stop(): Promise<void>
}

export interface WorkerLoopOptions {
  /**
   * Starts due jobs and tracks them. An error is reported; the loop continues after the interval.
   * @returns whether to poll again at once, because more may be due.
   */
  poll(loop: WorkerLoop): Promise<boolean>
  onError: (error: Error) => void
  /** Milliseconds between two polls when the loop is not woken. Default 1,000. */
  interval?: number
  /** Milliseconds that running jobs have to finish after a stop. Default 5,000. */
  drainTimeoutMs?: number
}

export class WorkerLoop implements BackgroundWorker {
  readonly #options: Required<WorkerLoopOptions>
  readonly #running = new Set<Promise<void>>()
  readonly #abort = new AbortController()
  #stopping = false
  #wake = (): void => {}
  #finished: Promise<void> = Promise.resolve()

  constructor({ interval = 1_000, drainTimeoutMs = 5_000, ...options }: WorkerLoopOptions) {
    this.#options = { ...options, interval, drainTimeoutMs }
  }

  /** Aborts when the running jobs must end: their time after a stop is over. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get isStopping(): boolean {
    return this.#stopping
  }

  /** The number of running jobs. */
  get running(): number {
    return this.#running.size
  }

  /** Tracks a running job. Its error is reported; its end wakes the loop. */
  track(job: Promise<void>): void {
    const tracked: Promise<void> = job.catch(this.#options.onError).finally(() => {
      this.#running.delete(tracked)
      this.wake()
    })
    this.#running.add(tracked)
  }

  // A property, so that it can be passed on as a callback.
  wake = (): void => {
    this.#wake()
  }

  start(): void {
    this.#finished = this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.wake()
    await this.#finished
    const timer = setTimeout(() => this.#abort.abort(), this.#options.drainTimeoutMs)
    while (this.#running.size > 0) await Promise.all(this.#running)
    clearTimeout(timer)
  }

  async #run(): Promise<void> {
    const { poll, onError, interval } = this.#options
    while (!this.#stopping) {
      // Before the poll: a wake during the poll must not be lost.
      const woken = Promise.withResolvers<void>()
      this.#wake = woken.resolve
      const pollAgain = await poll(this).catch((error) => {
        onError(error)
        return false
      })
      if (pollAgain || this.#stopping) continue
      const timer = setTimeout(woken.resolve, interval)
      await woken.promise
      clearTimeout(timer)
    }
  }
}
