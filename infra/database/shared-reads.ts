// Reads share round trips: those that are asked for in one iteration of the event loop are sent as one batch,
// on one connection. A user with many reads has batches of its own, so that others do not wait for them.
import { AsyncLocalStorage } from 'node:async_hooks'
import type pg from 'pg'
import type { Config } from './batch.ts'
import { isConnectionLost } from './errors.ts'
import { sendOn } from './pool.ts'
import { unavailable } from '../errors.ts'
import type { FairSemaphore } from '../concurrency/fair-semaphore.ts'
import { isTracing } from '../telemetry/spans.ts'

const batchSize = 16

/** With more waiting reads than these, a user has batches of its own. */
const maxSharedReads = 3

/**
 * Milliseconds after which a shared batch is slow, and a batch of one user for each of its reads. No other
 * batch waits for a slow shared one.
 */
const slowMs = 10
const slowReadMs = 4

/**
 * A user in whose batch a read failed, or which was slow, sends reads alone: until one of them is fast, which
 * shows that another user's was slow, or for these milliseconds after the last that is not.
 */
const aloneMs = 5_000

/** Milliseconds that a read waits at most for a batch, while PostgreSQL does not answer. */
const maxWaitMs = 15_000

const shared = Symbol('shared')

interface Read {
  user: string
  askedAt: number
  config: Config
  resolve: (result: pg.QueryResult) => void
  reject: (error: unknown) => void
}

export interface SharedReadsOptions {
  pool: pg.Pool
  /** The shared batches that are sent at once, and those of one user. */
  inFlight: number
  /** The turns of users for what needs a connection of its own. */
  turns: FairSemaphore
}

export class SharedReads {
  readonly #options: SharedReadsOptions
  /** The user who waits the longest comes first. */
  readonly #waiting = new Map<string, Read[]>()
  /** The users whose reads are sent alone. `isSlow`: one of them was slow, alone. */
  readonly #alone = new Map<string, { until: number; isSlow: boolean }>()
  /** The batches without an answer, by user; the shared ones under `shared`. */
  readonly #inFlight = new Map<string | typeof shared, number>()
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
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      while (this.#hasSpace(shared)) {
        const reads = this.#takeShared()
        if (reads.length === 0) break
        void this.#send(shared, this.#inTime(reads))
      }
      for (const [user, waiting] of this.#waiting)
        while (waiting.length > maxSharedReads && this.#hasSpace(user))
          void this.#send(user, this.#inTime(waiting.splice(0, batchSize)))
    })
  }

  #hasSpace(key: string | typeof shared): boolean {
    return (this.#inFlight.get(key) ?? 0) < this.#options.inFlight
  }

  /** One read of each user, and further ones while there is space. */
  #takeShared(): Read[] {
    const reads: Read[] = []
    for (const [user, waiting] of this.#waiting) {
      if (waiting.length > maxSharedReads || this.#inFlight.has(user)) continue
      if (waiting.length > 0) reads.push(waiting.shift()!)
      // The loop comes back to a user whom it moves to the end.
      this.#waiting.delete(user)
      if (waiting.length > 0) this.#waiting.set(user, waiting)
      if (reads.length === batchSize) break
    }
    return reads
  }

  /** Refuses the reads that have waited too long. */
  #inTime(reads: Read[]): Read[] {
    const latest = performance.now() - maxWaitMs
    return reads.filter(({ askedAt, reject }) => {
      if (askedAt < latest) reject(unavailable())
      return askedAt >= latest
    })
  }

  async #send(key: string | typeof shared, reads: Read[]): Promise<void> {
    if (reads.length === 0) return
    this.#count(key, 1)
    let isCounted = true
    const leave = (): void => {
      if (isCounted) this.#count(key, -1)
      isCounted = false
      if (this.#waiting.size > 0) this.#schedule()
    }
    const isShared = key === shared
    const onSlow = (): void => {
      this.#separate(reads, !isShared)
      if (isShared) leave()
    }
    try {
      const client = await this.#options.pool.connect()
      const limit = isShared ? slowMs : slowReadMs * reads.length
      await ifSlow(limit, onSlow, this.#sendOn(client, reads))
    } catch (error) {
      for (const { reject } of reads) reject(error)
    } finally {
      leave()
    }
  }

  #count(key: string | typeof shared, change: 1 | -1): void {
    const inFlight = (this.#inFlight.get(key) ?? 0) + change
    if (inFlight === 0) this.#inFlight.delete(key)
    else this.#inFlight.set(key, inFlight)
  }

  async #sendOn(client: pg.PoolClient, reads: Read[]): Promise<void> {
    try {
      const results = await sendOn(
        client,
        reads.map(({ config }) => config),
      )
      reads.forEach(({ resolve }, i) => resolve(results[i]))
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
      const onSlow = (): void => this.#separate([{ user }], true)
      const [result] = await ifSlow(slowMs, onSlow, sendOn(client, [config]))
      if (this.#alone.get(user)?.isSlow === false) this.#alone.delete(user)
      return result
    })
  }

  #isAlone(user: string): boolean {
    const alone = this.#alone.get(user)
    if (alone !== undefined && alone.until <= performance.now()) this.#alone.delete(user)
    return this.#alone.has(user)
  }

  #separate(reads: Array<Pick<Read, 'user'>>, isSlow = false): void {
    const now = performance.now()
    // The first of the map is over first.
    for (const [user, { until }] of this.#alone) {
      if (until > now) break
      this.#alone.delete(user)
    }
    for (const { user } of reads) {
      const wasSlow = this.#alone.get(user)?.isSlow === true
      this.#alone.delete(user)
      this.#alone.set(user, { until: now + aloneMs, isSlow: isSlow || wasSlow })
    }
  }
}

/** Calls `onSlow` if the work takes longer than this. What a busy event loop has not read yet is not slow. */
async function ifSlow<T>(milliseconds: number, onSlow: () => void, work: Promise<T>): Promise<T> {
  let answered: NodeJS.Immediate | undefined
  const timer = setTimeout(() => (answered = setImmediate(onSlow)), milliseconds)
  try {
    return await work
  } finally {
    clearTimeout(timer)
    clearImmediate(answered)
  }
}
