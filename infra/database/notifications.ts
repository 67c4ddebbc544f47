// LISTEN/NOTIFY: one connection of a process receives the notifications of all channels. It reconnects when
// it is lost or silent. Notifications in between are lost, so subscribers learn when the connection is lost
// and when it is restored. A new connection must first hear a notification: behind a pooler in transaction
// mode LISTEN succeeds, but nothing arrives.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Bus } from '../bus/bus.ts'
import { Client } from './client.ts'
import type { Db } from './database.ts'
import { statement } from './statements.ts'

export interface ListenerOptions {
  db: Db
  /** The database URL for the listening connection. */
  url: string
  onError?: (error: Error) => void
  /** Milliseconds between two queries that check the connection; the same in every process. Default 1,000. */
  heartbeat?: number
  /** Is awaited before a barrier is answered. Default: it is answered at once. */
  beforeAnswer?: (token: string) => Promise<void>
}

// The listening connection sets its name itself, because the URL may contain another one.
const setName = "SET application_name = 'platform listener'"
export const otherListeners = statement<{ pid: number }>(`
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'platform listener' AND pid <> $1`)
export const raiseBarrier = statement("SELECT pg_notify('barrier', $1)")
export const notify = statement('SELECT pg_notify($1, $2)')
const heartbeat = `
  SELECT pg_notify('barrier_heard', token || ' ' || pg_backend_pid()) FROM unnest($1::text[]) AS token
  UNION ALL SELECT pg_notify($2, '')`

/** The id of the database, and its time in milliseconds. */
export const readOrigin = statement<{ id: string; time: number }>(`
  SELECT database_id AS id, (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time
  FROM database_identity`)

type Callback<T> = (value: T) => void

export class Listener implements Bus {
  readonly #db: Db
  readonly #url: string
  readonly #onError: (error: Error) => void
  readonly #heartbeat: number

  readonly #channels = new Map<string, Array<Callback<string>>>()
  readonly #stateCallbacks: Array<Callback<boolean>> = []
  /** The barriers of this process that wait for answers, by token. Called with each backend that answers. */
  readonly #barriers = new Map<string, Callback<string>>()
  /** Only this listener hears its heartbeats. */
  readonly #ownChannel = `heartbeat_${randomUUID()}`
  #onHeartbeat = (): void => {}
  readonly #stop = new AbortController()
  #client: Client | null = null
  /** The process id of the connection's backend. */
  #pid = 0
  /** The barriers that were received and not yet answered. */
  #unanswered: string[] = []
  #pause = new AbortController()
  #listening = false
  #running: Promise<void> | undefined

  constructor({ db, url, onError = () => {}, heartbeat = 1_000, beforeAnswer }: ListenerOptions) {
    this.#db = db
    this.#url = url
    this.#onError = onError
    this.#heartbeat = heartbeat
    // Every listener answers barriers on any channels, because `waitForListeners` waits for all listeners.
    const answer = (token: string): void => {
      this.#unanswered.push(token)
      this.#pause.abort()
    }
    this.on('barrier', (token) => {
      if (beforeAnswer === undefined) answer(token)
      else beforeAnswer(token).then(() => answer(token), this.#onError)
    })
    this.on('barrier_heard', (payload) => {
      const [token, backend] = payload.split(' ')
      this.#barriers.get(token)?.(backend)
    })
    this.on(this.#ownChannel, () => this.#onHeartbeat())
  }

  get listening(): boolean {
    return this.#listening
  }

  /** Throws unless notifications arrive within `milliseconds`, by default 2,000. */
  async requireListening(milliseconds = 2_000): Promise<void> {
    const deadline = Date.now() + milliseconds
    while (!this.#listening) {
      if (Date.now() > deadline) throw new Error('The server receives no notifications of the database.')
      await sleep(50)
    }
  }

  /**
   * Calls `callback` with the payload of each notification on the channel, in the order of the commits. The
   * callback is synchronous; its errors are reported. Call this before `start`.
   */
  on(channel: string, callback: (payload: string) => void): void {
    if (this.#running !== undefined)
      throw new Error(`the listener has started without the channel ${channel}`)
    this.#channels.set(channel, [...(this.#channels.get(channel) ?? []), callback])
  }

  /** Sends a notification to all processes, also to this one. */
  async publish(channel: string, payload = ''): Promise<void> {
    await this.#db.sql(notify, [channel, payload])
  }

  /** Calls `callback` when the listener connects and disconnects. In between notifications are lost. */
  onState(callback: (listening: boolean) => void): void {
    this.#stateCallbacks.push(callback)
  }

  start(): void {
    this.#running ??= this.#run()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#disconnect()
    await this.#running
  }

  /**
   * Call this after a commit: waits until every other listener of the database has processed the
   * notifications of the commit. A listener that does not answer for three heartbeats is not waited for: by
   * then it knows that it is disconnected.
   */
  async waitForListeners(): Promise<void> {
    const rows = await this.#db.sql(otherListeners, [this.#pid])
    const others = new Set(rows.map((other) => String(other.pid)))
    if (others.size === 0) return
    // Notifications arrive in the order of their commits: a listener that answers the barrier has received
    // all changes before it.
    const token = randomUUID()
    const answered = new Promise<void>((resolve) => {
      this.#barriers.set(token, (backend) => {
        if (others.delete(backend) && others.size === 0) resolve()
      })
    })
    try {
      await this.#db.sql(raiseBarrier, [token])
      // A lost connection is noticed after a pause of one heartbeat and a query time-out of two.
      const timeout = sleep(3 * this.#heartbeat, undefined, { signal: this.#stop.signal }).catch(() => {})
      await Promise.race([answered, timeout])
    } finally {
      this.#barriers.delete(token)
    }
  }

  /** Listens until closed. Reconnects when the connection is lost or silent. */
  async #run(): Promise<void> {
    // The delay starts again at 50 ms after each successful connection, which `retry` cannot express.
    for (let delay = 100; !this.#stop.signal.aborted; delay = Math.min(delay * 2, 2_000)) {
      const lost = new AbortController()
      const ended = AbortSignal.any([this.#stop.signal, lost.signal])
      try {
        await this.#connect(ended, () => lost.abort())
        await this.#requireNotifications(ended)
        this.#setListening(true)
        delay = 50
        await this.#answerBarriersUntil(ended)
      } catch (error) {
        this.#client?.doubtHost()
        this.#report(error as Error)
      }
      // Late notifications of the abandoned connection would be out of order.
      lost.abort()
      this.#setListening(false)
      await this.#disconnect()
      await sleep(delay, undefined, { signal: this.#stop.signal }).catch(() => {})
    }
  }

  /** Answers barriers at once, and queries the connection every heartbeat. Throws when the query fails. */
  async #answerBarriersUntil(ended: AbortSignal): Promise<void> {
    // The query runs even without barriers: only sending reveals a connection that was cut silently.
    while (!ended.aborted) {
      this.#pause = new AbortController()
      if (this.#unanswered.length === 0)
        await sleep(this.#heartbeat, undefined, { signal: this.#pause.signal }).catch(() => {})
      if (!ended.aborted) await this.#beat(ended)
    }
  }

  /** Answers the barriers, and checks that this connection still hears notifications. */
  async #beat(ended: AbortSignal): Promise<void> {
    await this.#hear(ended, () =>
      this.#client!.query(heartbeat, [this.#unanswered.splice(0), this.#ownChannel]),
    )
  }

  /**
   * Another connection sends the first notification. A pooler in transaction mode delivers to it, not to this
   * connection, which is idle.
   */
  async #requireNotifications(ended: AbortSignal): Promise<void> {
    await this.#hear(ended, () => this.publish(this.#ownChannel))
  }

  /** @throws when the notification that `send` sends does not arrive. */
  async #hear(ended: AbortSignal, send: () => Promise<unknown>): Promise<void> {
    const heard = new Promise<true>((resolve) => {
      this.#onHeartbeat = () => resolve(true)
    })
    await send()
    const timer = new AbortController()
    const late = sleep(2 * this.#heartbeat, false, { signal: AbortSignal.any([ended, timer.signal]) })
    const wasHeard = await Promise.race([heard, late.catch(() => true)])
    timer.abort()
    if (!wasHeard)
      throw new Error(
        'No notification of the database arrives. If a pooler in transaction mode is in between, set ' +
          'DATABASE_DIRECT_URL.',
      )
  }

  async #connect(ended: AbortSignal, onLost: () => void): Promise<void> {
    this.#pid = 0
    this.#unanswered = []
    const client = this.#createClient(ended, onLost)
    this.#client = client
    // `connect` never settles when the client is ended, or loses its connection, while it connects.
    const aborted = new Promise<false>((resolve) =>
      ended.addEventListener('abort', () => {
        resolve(false)
        this.#pause.abort()
      }),
    )
    if (!(await Promise.race([client.connect().then(() => true), aborted])))
      throw new Error('the listening connection was lost')
    // With a pooler, the process id that the client knows is the pooler's.
    this.#pid = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0].pid
    // In one query, and the name first: a named connection is waited for, so it must listen by then.
    const listens = [...this.#channels.keys()].map((channel) => `LISTEN ${pg.escapeIdentifier(channel)}`)
    await client.query([setName, ...listens].join('; '))
  }

  #createClient(ended: AbortSignal, onLost: () => void): Client {
    const client = new Client({
      connectionString: this.#url,
      connectionTimeoutMillis: 5_000,
      query_timeout: 2 * this.#heartbeat,
      keepAlive: true,
      // A standby takes no LISTEN.
      target: 'read-write',
    })
    client.on('error', (error) => {
      this.#report(error)
      onLost()
    })
    client.on('end', onLost)
    client.on('notification', ({ channel, payload = '' }) => {
      if (!ended.aborted) this.#callAll(this.#channels.get(channel) ?? [], payload)
    })
    return client
  }

  #setListening(listening: boolean): void {
    if (this.#listening === listening) return
    this.#listening = listening
    this.#callAll(this.#stateCallbacks, listening)
  }

  #callAll<T>(callbacks: Array<Callback<T>>, value: T): void {
    for (const callback of callbacks) {
      try {
        callback(value)
      } catch (error) {
        this.#report(error as Error)
      }
    }
  }

  /** Errors after `close` are expected and not reported. */
  #report(error: Error): void {
    if (!this.#stop.signal.aborted) this.#onError(error)
  }

  /** Waits only briefly: `end` never settles for a connection that broke while it was established. */
  async #disconnect(): Promise<void> {
    await Promise.race([this.#client?.end().catch(() => {}), sleep(500)])
  }
}
