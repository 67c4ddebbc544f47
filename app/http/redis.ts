// The connection to Redis, and what a server does while Redis does not answer.
import { Redis } from 'ioredis'

/** Milliseconds after which one request asks Redis again. The others do not wait for it. */
const retryMs = 2_000

export class RedisConnection {
  readonly client: Redis
  readonly #onError: (error: Error) => void
  /**
   * The first requests wait until the first connection succeeds or fails; otherwise a server that has just
   * started would not ask Redis.
   */
  readonly firstConnection: Promise<void>
  #answers = true
  #askAgainAt = 0

  constructor(url: string, onError: (error: Error) => void) {
    this.#onError = onError
    const client = new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      connectTimeout: 2_000,
      commandTimeout: 1_000,
    })
    this.client = client
    this.firstConnection = new Promise((resolve) => {
      client.once('ready', resolve).once('close', resolve)
    })
    client.on('ready', () => {
      this.#answers = true
      this.#askAgainAt = 0
    })
    client.on('error', (error) => this.#setAway(error))
  }

  /** Runs `ask`, or `otherwise` if Redis does not answer. */
  async ask<T>(ask: () => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    await this.firstConnection
    if (!this.#answers) {
      if (performance.now() < this.#askAgainAt) return await otherwise()
      this.#askAgainAt = performance.now() + retryMs
    }
    try {
      const result = await ask()
      this.#answers = true
      return result
    } catch (error) {
      this.#setAway(error as Error)
      return await otherwise()
    }
  }

  async ping(): Promise<void> {
    await this.client.ping()
  }

  close(): void {
    this.client.disconnect()
  }

  /** Reported once per outage. */
  #setAway(cause: Error): void {
    this.#askAgainAt = performance.now() + retryMs
    if (!this.#answers) return
    this.#answers = false
    const message = 'Redis does not answer; each server counts rate limits by itself until it is back'
    this.#onError(new Error(message, { cause }))
  }
}
