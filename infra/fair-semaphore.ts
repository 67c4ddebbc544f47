// A semaphore that is fair between users: how many tasks run at once, in total and for each user.
import { tooManyOpen, unavailable } from './errors.ts'

export interface FairSemaphoreOptions {
  /** Tasks that run at once, and those of one user. */
  total: number
  perUser: number
  /** Tasks of one user that may wait. */
  maxWaiting: number
  /** Milliseconds that a task waits at most. */
  maxWaitMs: number
  /** What the tasks are, for error messages. */
  name: string
}

type Start = () => void

export class FairSemaphore {
  readonly #options: FairSemaphoreOptions
  readonly #runningByUser = new Map<string, number>()
  /** The user who waits the longest for a turn comes first. */
  readonly #waitingByUser = new Map<string, Set<Start>>()
  #running = 0

  constructor(options: FairSemaphoreOptions) {
    this.#options = options
  }

  /**
   * Runs `work` when there is space. Waiting users take turns.
   * @throws 429 if too many tasks of the user wait, 503 after the maximum wait, or the reason of `signal`.
   */
  async run<T>(user: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (!this.#hasSpace(user)) await this.#wait(user, signal)
    else this.#count(user, 1)
    try {
      return await work()
    } finally {
      this.#count(user, -1)
      this.#startNext()
    }
  }

  /** The tasks of the user that run or wait. */
  countOpen(user: string): number {
    return this.#runningOf(user) + (this.#waitingByUser.get(user)?.size ?? 0)
  }

  #hasSpace(user: string): boolean {
    return this.#running < this.#options.total && this.#runningOf(user) < this.#options.perUser
  }

  #runningOf(user: string): number {
    return this.#runningByUser.get(user) ?? 0
  }

  #count(user: string, change: 1 | -1): void {
    this.#running += change
    const running = this.#runningOf(user) + change
    if (running === 0) this.#runningByUser.delete(user)
    else this.#runningByUser.set(user, running)
  }

  /** Waits for the user's turn, which counts as running from then on. */
  async #wait(user: string, signal?: AbortSignal): Promise<void> {
    const { maxWaiting, maxWaitMs, name } = this.#options
    const waiting = this.#waitingByUser.get(user) ?? new Set()
    if (waiting.size >= maxWaiting) throw tooManyOpen(name, this.#options.perUser + maxWaiting)
    signal?.throwIfAborted()
    const turn = Promise.withResolvers<void>()
    const giveUp = (error: unknown): void => {
      this.#removeWaiting(user, turn.resolve)
      turn.reject(error)
    }
    const timer = setTimeout(() => giveUp(unavailable()), maxWaitMs)
    const onAbort = (): void => giveUp(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    this.#waitingByUser.set(user, waiting.add(turn.resolve))
    try {
      await turn.promise
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
  }

  #removeWaiting(user: string, start: Start): void {
    const waiting = this.#waitingByUser.get(user)
    waiting?.delete(start)
    if (waiting?.size === 0) this.#waitingByUser.delete(user)
  }

  #startNext(): void {
    for (const [user, [start]] of this.#waitingByUser) {
      if (!this.#hasSpace(user)) continue
      this.#count(user, 1)
      this.#removeWaiting(user, start)
      this.#moveToEnd(user)
      start()
      return
    }
  }

  #moveToEnd(user: string): void {
    const waiting = this.#waitingByUser.get(user)
    if (waiting === undefined) return
    this.#waitingByUser.delete(user)
    this.#waitingByUser.set(user, waiting)
  }
}
