// A semaphore that is fair between users: how many tasks run at once, in total and for each user.
import { tooManyOpen, unavailable } from '../errors.ts'

export interface FairSemaphoreOptions {
  /** Tasks that run at once, and those of one user. */
  total: number
  perUser: number
  /** Tasks of one user that may wait. */
  maxWaiting: number
  /** Milliseconds that a task waits at most. */
  maxWaitMs: number
  /** The name of the tasks in error messages. */
  name: string
  /**
   * Pause before the user's next waiting task, given how long the last one took. In milliseconds; default 0.
   */
  pauseAfter?: (milliseconds: number) => number
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
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      const pause = this.#waitingOf(user) === 0 ? 0 : this.#pauseAfter(performance.now() - startedAt)
      if (pause > 0) setTimeout(() => this.#end(user), pause)
      else this.#end(user)
    }
  }

  #pauseAfter(milliseconds: number): number {
    return this.#options.pauseAfter?.(milliseconds) ?? 0
  }

  #end(user: string): void {
    this.#count(user, -1)
    this.#startNext()
  }

  #hasSpace(user: string): boolean {
    return this.#running < this.#options.total && this.#runningOf(user) < this.#options.perUser
  }

  #runningOf(user: string): number {
    return this.#runningByUser.get(user) ?? 0
  }

  #waitingOf(user: string): number {
    return this.#waitingByUser.get(user)?.size ?? 0
  }

  #count(user: string, change: 1 | -1): void {
    this.#running += change
    const running = this.#runningOf(user) + change
    if (running === 0) this.#runningByUser.delete(user)
    else this.#runningByUser.set(user, running)
  }

  /** Waits for the user's turn, which counts as running from then on. */
  async #wait(user: string, signal?: AbortSignal): Promise<void> {
    const { maxWaiting, perUser, name } = this.#options
    if (this.#waitingOf(user) >= maxWaiting) throw tooManyOpen(name, perUser + maxWaiting)
    signal?.throwIfAborted()
    await this.#queue(user, signal)
  }

  async #queue(user: string, signal?: AbortSignal): Promise<void> {
    const waiting = this.#waitingByUser.get(user) ?? new Set()
    const turn = Promise.withResolvers<void>()
    const giveUp = (error: unknown): void => {
      this.#removeWaiting(user, turn.resolve)
      turn.reject(error)
    }
    const timer = setTimeout(() => giveUp(unavailable()), this.#options.maxWaitMs)
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
