// How fast the requests of a client start. A few start at once; further ones start at a steady rate, so that
// the requests of a minute do not arrive in a second and take the CPU from others. A request that comes too
// early waits, and is not refused.

/** Requests of a client that start at once: fewer of the policies whose requests cost more. */
const burstOf = (limitPerMinute: number): number => Math.min(12, Math.max(2, Math.floor(limitPerMinute / 20)))
/** Seconds in which a client can use up its limit for a minute. */
const spreadSeconds = 6

/** Milliseconds between two looks for clients that need no entry. */
const cleanupMs = 60_000

export class Pace {
  /** Milliseconds between two starts. */
  readonly #interval: number
  readonly #burstMs: number
  /** When the next request of a client may start. */
  readonly #clients = new Map<string, { next: number }>()
  #cleanupAt = 0

  constructor(limitPerMinute: number) {
    this.#interval = (spreadSeconds * 1_000) / limitPerMinute
    this.#burstMs = (burstOf(limitPerMinute) - 1) * this.#interval
  }

  /** The clients that may not send a whole burst, and some that may. */
  get size(): number {
    return this.#clients.size
  }

  /** Counts a request of the client. @returns the milliseconds until it may start. */
  delay(client: string, now = performance.now()): number {
    if (now >= this.#cleanupAt) this.#cleanUp(now)
    const earliest = now - this.#burstMs
    const known = this.#clients.get(client)
    const start = Math.max(known?.next ?? earliest, earliest)
    if (known === undefined) this.#clients.set(client, { next: start + this.#interval })
    else known.next = start + this.#interval
    return Math.max(0, start - now)
  }

  #cleanUp(now: number): void {
    this.#cleanupAt = now + cleanupMs
    for (const [client, { next }] of this.#clients)
      if (next <= now - this.#burstMs) this.#clients.delete(client)
  }
}
