// How fast the requests of a client start. A few start at once; further ones start at a steady rate, so that the
// requests of a minute do not arrive in a second and take the CPU from other clients. A request that comes too
// early waits, and is not refused.
import { setTimeout as sleep } from 'node:timers/promises'

/** Requests of a client that start at once. */
const burst = 12
/** The rate lets a client use its limit of a minute in so many seconds. */
const spreadSeconds = 6

export class Pace {
  /** Milliseconds between two starts. */
  readonly #interval: number
  /** When the next request of a client may start. The client of the latest request is the last. */
  readonly #next = new Map<string, number>()

  constructor(limitPerMinute: number) {
    this.#interval = (spreadSeconds * 1_000) / limitPerMinute
  }

  /** Counts a request of the client. @returns the milliseconds until it may start. */
  delay(client: string, now = performance.now()): number {
    const earliest = now - (burst - 1) * this.#interval
    const start = Math.max(this.#next.get(client) ?? 0, earliest)
    this.#forgetBefore(earliest)
    this.#next.delete(client)
    this.#next.set(client, start + this.#interval)
    return Math.max(0, start - now)
  }

  /** The clients that may not send a whole burst. */
  get size(): number {
    return this.#next.size
  }

  /** Waits until the client's next request may start. */
  async wait(client: string): Promise<void> {
    const ms = this.delay(client)
    if (ms >= 1) await sleep(ms)
  }

  /** Clients that may send a whole burst again need no entry. */
  #forgetBefore(earliest: number): void {
    for (const [client, next] of this.#next) {
      if (next > earliest) return
      this.#next.delete(client)
    }
  }
}
