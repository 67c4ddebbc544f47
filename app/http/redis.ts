// The connection to Redis, and what a server does while Redis does not answer.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { inTime } from '../../infra/concurrency/in-time.ts'

/** Milliseconds in which Redis must answer a request. Each server counts by itself from then on. */
const patience = 50

/** Milliseconds between two attempts to reach Redis again. Requests do not wait for them. */
const retryMs = 500

/** Milliseconds that the start waits for the first connection. */
const connectMs = 2_000

export class RedisConnection {
  readonly client: Redis
  readonly #onError: (error: Error) => void
  readonly #stop = new AbortController()
  #answers = true

  constructor(url: string, onError: (error: Error) => void) {
    this.#onError = onError
    this.client = new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      connectTimeout: connectMs,
      commandTimeout: 1_000,
    })
    this.client.on('ready', () => {
      this.#answers = true
    })
    this.client.on('error', (error) => this.#setAway(error))
  }

  /** Waits until the first connection succeeds or fails, for two seconds at most. */
  async connected(): Promise<void> {
    if (this.client.status === 'ready') return
    const settled = new Promise<void>((resolve) => {
      this.client.once('ready', resolve).once('close', resolve)
    })
    const answers = await Promise.race([settled.then(() => true), this.#pause(connectMs).then(() => false)])
    if (!answers) this.#setAway(new Error(`no answer within ${connectMs} ms`))
  }

  /** Runs `ask`, or `otherwise` if Redis does not answer in time. */
  async ask<T>(ask: () => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    if (!this.#answers) return await otherwise()
    try {
      return await inTime(ask(), patience)
    } catch (error) {
      this.#setAway(error as Error)
      return await otherwise()
    }
  }

  /** Throws while Redis does not answer in time, or takes no more keys. */
  async ping(): Promise<void> {
    await inTime(this.client.set('platform:ping', '', 'PX', 1_000), patience)
  }

  close(): void {
    this.#stop.abort()
    this.client.disconnect()
  }

  /** Reported once per outage. */
  #setAway(cause: Error): void {
    if (!this.#answers || this.#stop.signal.aborted) return
    this.#answers = false
    const message = 'Redis does not answer; each server counts rate limits by itself until it is back'
    this.#onError(new Error(message, { cause }))
    void this.#waitForAnswer()
  }

  async #waitForAnswer(): Promise<void> {
    while (!this.#answers && !this.#stop.signal.aborted) {
      await this.#pause(retryMs)
      this.#answers = await this.ping().then(
        () => true,
        () => this.#answers,
      )
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#stop.signal, ref: false }).catch(() => {})
  }
}
