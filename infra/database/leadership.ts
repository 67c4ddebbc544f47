// Leadership: of all processes of a database one leads. It holds an advisory lock on a connection of its own,
// to PostgreSQL itself. When the connection ends, PostgreSQL releases the lock and another process leads
// within seconds. A leader that hangs loses its connection: the others end it.
//
// A standby has locks of its own, so the lock counts only on a server that is not in recovery. After a
// fail-over, another process may take the lock on the new primary while the old one still runs or hangs. So a
// leader asks twice in each heartbeat, and pauses until it has an answer: two processes lead for at most one
// heartbeat. What the leader does must bear that.
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import type { Client } from './client.ts'
import type { Database } from './database.ts'
import { WrongRoleError } from './hosts.ts'
import { statement } from './statements.ts'

export interface LeadershipOptions {
  database: Database
  /** The processes with the same name elect one leader. */
  name: string
  onError?: (error: Error) => void
  /** Milliseconds between two checks of the lock, the same in every process. Default 1,000. */
  heartbeat?: number
}

/** Heartbeats without a sign of life after which the others end the connection of the leader. */
const maxSilence = 5

const tryLock = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS locked'
/** The leader's heartbeat changes `query_start`, which everyone with the same role sees. */
const heartbeatQuery = 'SELECT pg_is_in_recovery() AS standby'
/** `pid` is null while no process leads. */
const findLeader = statement<{ standby: boolean; pid: number | null; silent: boolean | null }>(`
  SELECT pg_is_in_recovery() AS standby, a.pid,
    a.state = 'idle' AND a.state_change < clock_timestamp() - make_interval(secs => $2) AS silent
  FROM (VALUES (1)) AS always LEFT JOIN (
    pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
      AND l.locktype = 'advisory' AND l.granted AND a.datname = current_database() AND l.objsubid = 1
      AND l.classid::bigint = (hashtextextended($1, 0) >> 32) & 4294967295
      AND l.objid::bigint = hashtextextended($1, 0) & 4294967295
  ) ON true`)
const endConnection = statement('SELECT pg_terminate_backend($1::int)')

export class Leadership {
  readonly #options: Required<LeadershipOptions>
  readonly #callbacks: Array<(leading: boolean) => void> = []
  readonly #stop = new AbortController()
  #connection: Client | null = null
  #leading = false
  /** Whether the last round failed: an outage is reported once. */
  #failing = false
  #running: Promise<void> | undefined

  constructor(options: LeadershipOptions) {
    this.#options = { heartbeat: 1_000, onError: () => {}, ...options }
  }

  get leading(): boolean {
    return this.#leading
  }

  /** Calls `callback` when this process begins and ceases to lead. */
  onChange(callback: (leading: boolean) => void): void {
    this.#callbacks.push(callback)
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Gives the leadership up. */
  async close(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { heartbeat, onError } = this.#options
    while (!this.#stop.signal.aborted) {
      try {
        const free = !(await this.#isLed())
        this.#failing = false
        if (free && (await this.#take())) await this.#holdUntilLost()
      } catch (error) {
        if (!this.#stop.signal.aborted && !this.#failing) onError(error as Error)
        this.#failing = true
      }
      await this.#giveUp()
      await sleep(heartbeat, undefined, { signal: this.#stop.signal }).catch(() => {})
    }
  }

  /** Whether another process leads. Ends the connection of one that hangs. */
  async #isLed(): Promise<boolean> {
    const { database, name, heartbeat } = this.#options
    const [{ standby, pid, silent }] = await database.sql(findLeader, [
      name,
      (maxSilence * heartbeat) / 1_000,
    ])
    if (standby) {
      database.reconnect()
      throw new WrongRoleError('primary', { standby, readOnly: true })
    }
    if (pid === null) return false
    if (silent) await database.sql(endConnection, [pid])
    return !silent
  }

  async #take(): Promise<boolean> {
    this.#connection = await this.#options.database.openSession()
    const { rows } = await this.#connection.query<{ locked: boolean }>(tryLock, [this.#options.name])
    return rows[0].locked
  }

  /** Throws when the connection is lost. */
  async #holdUntilLost(): Promise<void> {
    const connection = this.#connection!
    const lost = new AbortController()
    connection.on('error', () => lost.abort())
    connection.on('end', () => lost.abort())
    const ended = AbortSignal.any([lost.signal, this.#stop.signal])
    this.#setLeading(true)
    while (!ended.aborted) {
      await sleep(this.#options.heartbeat / 2, undefined, { signal: ended }).catch(() => {})
      if (!ended.aborted) await this.#beat(connection)
    }
  }

  /** Pauses the leadership while the answer is late. @throws when there is none, or that of a standby. */
  async #beat(connection: Client): Promise<void> {
    const { heartbeat, database } = this.#options
    const answer = connection.query<{ standby: boolean }>(heartbeatQuery)
    if (await isLate(answer, heartbeat / 2)) {
      this.#setLeading(false)
      if (await isLate(answer, 2.5 * heartbeat)) {
        connection.doubtHost()
        throw new Error('the connection of the leader does not answer')
      }
    }
    const [{ standby }] = (await answer).rows
    if (standby) {
      database.reconnect()
      throw new WrongRoleError('primary', { standby, readOnly: true })
    }
    if (this.#connection === connection && !this.#stop.signal.aborted) this.#setLeading(true)
  }

  async #giveUp(): Promise<void> {
    this.#setLeading(false)
    const connection = this.#connection
    this.#connection = null
    // `end` does not settle for every broken connection.
    await Promise.race([connection?.end().catch(() => {}), sleep(500)])
  }

  #setLeading(leading: boolean): void {
    if (this.#leading === leading) return
    this.#leading = leading
    for (const callback of this.#callbacks) callback(leading)
  }
}

/** Whether the answer takes longer. Throws the error of an answer that is one. */
async function isLate(answer: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const timer = new AbortController()
  const late = sleep(milliseconds, undefined, { signal: timer.signal }).then(async () => {
    // A busy process reads the answer only now.
    await setImmediate()
    await setImmediate()
    return true
  })
  try {
    return await Promise.race([answer.then(() => false), late.catch(() => false)])
  } finally {
    timer.abort()
  }
}
