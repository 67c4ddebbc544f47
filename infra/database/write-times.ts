// When each user last wrote, in bounded memory. What is forgotten for want of space counts as written by
// everybody.

export class WriteTimes {
  readonly #maxUsers: number
  /** The user who wrote last is at the end. */
  readonly #times = new Map<string, number>()
  /** Everybody may have written until this time. */
  #floor = -Infinity

  constructor(maxUsers = 100_000) {
    this.#maxUsers = maxUsers
  }

  note(userId: string): void {
    this.#times.delete(userId)
    this.#times.set(userId, performance.now())
    if (this.#times.size <= this.#maxUsers) return
    const [[oldest, time]] = this.#times
    this.#times.delete(oldest)
    this.#floor = time
  }

  /** Whether the user wrote at `time` or later. */
  wroteSince(userId: string, time: number): boolean {
    return (this.#times.get(userId) ?? this.#floor) >= time
  }

  forgetBefore(time: number): void {
    for (const [userId, wroteAt] of this.#times) {
      if (wroteAt >= time) return
      this.#times.delete(userId)
    }
  }
}
