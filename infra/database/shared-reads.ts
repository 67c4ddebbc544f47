// Reads share round trips: those that are asked for in one iteration of the event loop are sent as one batch,
// on one connection. Users take turns in a batch, so that one with many reads does not delay the others.
import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import type { Config } from './batch.ts'
import { isConnectionLost } from './errors.ts'
import { sendOn } from './pool.ts'
import { unavailable } from '../errors.ts'
import type { FairSemaphore } from '../concurrency/fair-semaphore.ts'
import { isTracing } from '../telemetry/spans.ts'

/** The statements of a batch: a slow one delays no more than these. */
const batchSize = 16

/**
 * A user in whose batch a read failed, or which took longer, in milliseconds, sends reads alone: until one of
 * them is fast, or for some time after one that is not.
 */
const slowMs = 25
const aloneMs = 10_000

/** Milliseconds that a read waits at most for a batch, while PostgreSQL does not answer. */
const maxWaitMs = 15_000

interface Read {
  user: string
  askedAt: number
  config: Config
  resolve: (result: pg.QueryResult) => void
  reject: (error: unknown) => void
}

export interface SharedReadsOptions {
  pool: pg.Pool
  /** Batches that are sent at once. */
  inFlight: number
  /** The turns of users for what needs a connection of its own. */
  turns: FairSemaphore
}

export class SharedReads {
  readonly #options: SharedReadsOptions
  /** The user who waits the longest comes first. */
  readonly #waiting = new Map<string, Read[]>()
  /** Until when the reads of a user are sent alone. */
  readonly #alone = new Map<string, number>()
  #inFlight = 0
  #isScheduled = false

  constructor(options: SharedReadsOptions) {
    this.#options = options
  }

  async run(user: string, config: Config): Promise<pg.QueryResult> {
    if (this.#isAlone(user)) return await this.#runAlone(user, config)
    // For the span of the statement.
    if (isTracing()) config.inContext = AsyncLocalStorage.snapshot()
    return await new Promise((resolve, reject) => {
      const read = { user, askedAt: performance.now(), config, resolve, reject }
      const waiting = this.#waiting.get(user)
      if (waiting === undefined) this.#waiting.set(user, [read])
      else waiting.push(read)
      this.#schedule()
    })
  }

  /** The reads of this iteration of the event loop are sent at its end. */
  #schedule(): void {
    if (this.#isScheduled || this.#inFlight >= this.#options.inFlight) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      while (this.#waiting.size > 0 && this.#inFlight < this.#options.inFlight) {
        const reads = this.#take()
        if (reads.length > 0) void this.#send(reads)
      }
    })
  }

  /** One read of each user, and further ones while there is space. */
  #take(): Read[] {
    const reads: Read[] = []
    const latest = performance.now() - maxWaitMs
    for (const [user, waiting] of this.#waiting) {
      const read = waiting.shift()!
      if (read.askedAt < latest) read.reject(unavailable())
      else reads.push(read)
      // The loop comes back to a user whom it moves to the end.
      this.#waiting.delete(user)
      if (waiting.length > 0) this.#waiting.set(user, waiting)
      if (reads.length === batchSize) break
    }
    return reads
  }

  async #send(reads: Read[]): Promise<void> {
    this.#inFlight++
    try {
      const client = await this.#options.pool.connect()
      await this.#sendOn(client, reads)
    } catch (error) {
      for (const { reject } of reads) reject(error)
    } finally {
      this.#inFlight--
      if (this.#waiting.size > 0) this.#schedule()
    }
  }

  async #sendOn(client: pg.PoolClient, reads: Read[]): Promise<void> {
    const sentAt = performance.now()
    try {
      const results = await sendOn(
        client,
        reads.map(({ config }) => config),
      )
      reads.forEach(({ resolve }, i) => resolve(results[i]))
      if (performance.now() - sentAt > slowMs) this.#separate(reads)
    } catch (error) {
      this.#separate(reads)
      if (reads.length === 1 || isConnectionLost(error)) throw error
      for (const { user, config, resolve, reject } of reads)
        this.#runAlone(user, config).then(resolve, reject)
    }
  }

  async #runAlone(user: string, config: Config): Promise<pg.QueryResult> {
    return await this.#options.turns.run(user, async () => {
      const client = await this.#options.pool.connect()
      const sentAt = performance.now()
      const [result] = await sendOn(client, [config])
      if (performance.now() - sentAt > slowMs) this.#separate([{ user }])
      else this.#alone.delete(user)
      return result
    })
  }

  #isAlone(user: string): boolean {
    const until = this.#alone.get(user)
    if (until !== undefined && until <= performance.now()) this.#alone.delete(user)
    return this.#alone.has(user)
  }

  #separate(reads: Array<Pick<Read, 'user'>>): void {
    const now = performance.now()
    // The first of the map is over first.
    for (const [user, until] of this.#alone) {
      if (until > now) break
      this.#alone.delete(user)
    }
    for (const { user } of reads) {
      this.#alone.delete(user)
      this.#alone.set(user, now + aloneMs)
    }
  }
}
