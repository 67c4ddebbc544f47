// A read replica for lists. It measures which commits the replica has, so that it is used for a user only
// when it has everything that the user is known to have written. Processes notify each other of writes, but
// do not wait for each other. While the replica is away or late, the lists are read from the database itself.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, SqlClient, SqlPool } from './database.ts'
import { inTime } from '../concurrency/in-time.ts'
import type { Bus } from '../bus/bus.ts'
import { statement } from './statements.ts'
import { WriteTimes } from './write-times.ts'

export interface ReadReplicaOptions {
  database: Database
  listener: Pick<Bus, 'on' | 'onState'>
  url: string
  poolSize: number
  /** Milliseconds by which the replica may be late. */
  maxLag: number
  onError: (error: Error) => void
  /** Milliseconds between two measurements. Default 250. */
  interval?: number
}

/** DATABASE_READ_URL leads to something else than a replica of the database. The message is one sentence. */
export class WrongReplicaError extends Error {}

/** Milliseconds after which a statement on the replica is given up, and the database runs it. */
const statementTimeout = 3_000
const measureTimeout = 1_000
const late = `The read replica gave no answer within ${measureTimeout} ms.`

interface Position {
  id: string
  position: number
}

const writtenPosition = statement<Position>(`
  SELECT database_id AS id, (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS position
  FROM database_identity`)
const replayedPosition = statement<Position & { replica: boolean }>(`
  SELECT database_id AS id, pg_is_in_recovery() AS replica,
    coalesce((pg_last_wal_replay_lsn() - '0/0'::pg_lsn)::float8, 0) AS position
  FROM database_identity`)
/** Carries the ids of users who have written, for the replicas of other processes. */
export const writesChannel = 'user_wrote'
const notifyWrite = statement('SELECT pg_notify($1, $2)')

/** Where the database's log ended at a time. */
interface Mark {
  time: number
  position: number
}

export class ReadReplica {
  /** Runs statements on the replica. It may be late, or away; see `serves`. */
  readonly lists: SqlClient
  readonly #options: Required<ReadReplicaOptions>
  readonly #pool: SqlPool
  readonly #writes = new WriteTimes()
  readonly #stop = new AbortController()
  /** The marks that the replica had not replayed when it was last asked, in order. */
  #marks: Mark[] = []
  /** The replica has everything that was committed before this time. */
  #upToDateAt = -Infinity
  /** Since when this process learns what users write through other processes; Infinity while it does not. */
  #listeningSince = Infinity
  /** Why it cannot be used. */
  #failure: Error | null = null
  #running: Promise<void> | undefined

  constructor(options: ReadReplicaOptions) {
    const { database, url, poolSize, listener } = options
    this.#options = { interval: 250, ...options }
    this.#pool = database.openSqlPool({ name: 'platform replica', url, poolSize, statementTimeout })
    this.lists = this.#pool
    listener.on(writesChannel, (userId) => this.#writes.note(userId))
    listener.onState((listening) => {
      this.#listeningSince = listening ? performance.now() : Infinity
    })
  }

  /** Whether the replica is recent, and has everything that the user is known to have written. */
  serves(userId: string): boolean {
    // Any user may have written while this process received no notifications.
    if (this.#upToDateAt < this.#listeningSince) return false
    if (performance.now() - this.#upToDateAt > this.#options.maxLag) return false
    return !this.#writes.wroteSince(userId, this.#upToDateAt)
  }

  /**
   * Call this after a commit of the user and before the response. This process knows of the write at once.
   * The others know it when they process the notification, which this does not wait for. If it cannot be
   * sent, they may serve the lists from before the write until the replica has it.
   */
  async noteWrite(userId: string): Promise<void> {
    this.#writes.note(userId)
    await this.#options.database.sql(notifyWrite, [writesChannel, userId]).catch(this.#options.onError)
  }

  /** Measures once. @throws WrongReplicaError, or the error of a replica that is away. */
  async measure(): Promise<void> {
    const time = performance.now()
    const [[written], [replayed]] = await Promise.all([
      this.#options.database.reserve.sql(writtenPosition, []),
      inTime(this.#pool.sql(replayedPosition, []), measureTimeout, late),
    ])
    if (replayed.id !== written.id)
      throw new WrongReplicaError(
        'DATABASE_READ_URL leads to another database than DATABASE_URL: it must lead to a replica of it.',
      )
    if (!replayed.replica) {
      // After a fail-over this is the primary. The next connection may find another host.
      this.#pool.reconnect()
      throw new Error(
        'DATABASE_READ_URL leads to a database that accepts writes: it must lead to a streaming replica.',
      )
    }
    this.#marks.push({ time, position: written.position })
    this.#advance(replayed.position)
  }

  /** Starts to measure periodically. */
  start(): void {
    this.#running ??= this.#run()
  }

  /** For the readiness: throws while the replica is not used. */
  async requireUsable(): Promise<void> {
    if (this.#failure !== null) throw this.#failure
    if (this.#upToDateAt === -Infinity) throw new Error('The lag of the read replica is not known yet.')
    const lag = performance.now() - this.#upToDateAt
    if (lag > this.#options.maxLag)
      throw new Error(`The read replica is more than ${this.#options.maxLag / 1000} seconds late.`)
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
    await this.#pool.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      this.#failure = await this.measure().then(
        () => null,
        (error: Error) => error,
      )
      // Not used again before the next successful measurement.
      if (this.#failure !== null) this.#upToDateAt = -Infinity
      await sleep(this.#options.interval, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /** The replica has replayed the log up to `position`. */
  #advance(position: number): void {
    const tooOld = performance.now() - this.#options.maxLag
    const reached = this.#marks.findLast((mark) => mark.position <= position)
    if (reached !== undefined) this.#upToDateAt = reached.time
    this.#marks = this.#marks.filter((mark) => mark.position > position && mark.time > tooOld)
    this.#writes.forgetBefore(this.#upToDateAt)
  }
}
