// LISTEN/NOTIFY: one connection of a process receives the notifications of all channels. It reconnects when
// it is lost or silent. Notifications in between are lost, so subscribers learn when the connection is lost
// and when it is restored.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from './database.ts'
import { statement } from './statements.ts'

export interface Listener {
  /**
   * Calls `callback` with the payload of each notification on the channel, in the order of the commits. The
   * callback is synchronous; its errors are reported. Call this before `start`.
   */
  on(channel: string, callback: (payload: string) => void): void
  /** Calls `callback` when the listener connects and disconnects. In between notifications are lost. */
  onState(callback: (listening: boolean) => void): void
  /**
   * Call this after a commit: waits until every other listener of the database has processed the
   * notifications of the commit. A listener that does not answer for three heartbeats is not waited for: by
   * then it knows that it is disconnected.
   */
  waitForListeners(): Promise<void>
  readonly listening: boolean
  start(): void
  close(): Promise<void>
}

export interface ListenerOptions {
  db: Db
  /** The database URL for the listening connection. */
  url: string
  onError?: (error: Error) => void
  /** Milliseconds between two queries that check the connection; the same in every process. Default 1,000. */
  heartbeat?: number
}

// The listening connection sets its name itself, because the URL may contain another one.
const setName = "SET application_name = 'platform listener'"
const otherListeners = statement<{ pid: number }>(`
  SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'platform listener' AND pid <> $1`)
const raiseBarrier = statement("SELECT pg_notify('barrier', $1)")
const answerBarriers = `
  SELECT pg_notify('barrier_heard', token || ' ' || pg_backend_pid()) FROM unnest($1::text[]) AS token`

export function createListener({
  db,
  url,
  onError = () => {},
  heartbeat = 1_000,
}: ListenerOptions): Listener {
  const channels = new Map<string, Array<(payload: string) => void>>()
  const stateCallbacks: Array<(listening: boolean) => void> = []
  const barriers = new Map<string, (backend: string) => void>()
  const stop = new AbortController()
  let client: pg.Client | null = null
  /** The process id of the connection's backend. */
  let pid = 0
  /** The barriers that were received and not yet answered. */
  let unanswered: string[] = []
  let pause = new AbortController()
  let listening = false
  let running: Promise<void> | undefined

  // Every listener answers barriers on any channels, because `waitForListeners` waits for all listeners.
  on('barrier', (token) => {
    unanswered.push(token)
    pause.abort()
  })
  on('barrier_heard', (payload) => {
    const [token, backend] = payload.split(' ')
    barriers.get(token)?.(backend)
  })

  return {
    on,
    onState(callback) {
      stateCallbacks.push(callback)
    },
    waitForListeners,
    get listening() {
      return listening
    },
    start() {
      running ??= run()
    },
    async close() {
      stop.abort()
      await disconnect()
      await running
    },
  }

  function on(channel: string, callback: (payload: string) => void): void {
    if (running !== undefined) throw new Error(`the listener has started without the channel ${channel}`)
    channels.set(channel, [...(channels.get(channel) ?? []), callback])
  }

  /**
   * Notifications arrive in the order of their commits: a listener that answers the barrier has received all
   * changes before it.
   */
  async function waitForListeners(): Promise<void> {
    const others = new Set((await db.sql(otherListeners, [pid])).map((other) => String(other.pid)))
    if (others.size === 0) return
    const token = randomUUID()
    const answered = new Promise<void>((resolve) => {
      barriers.set(token, (backend) => {
        if (others.delete(backend) && others.size === 0) resolve()
      })
    })
    try {
      await db.sql(raiseBarrier, [token])
      // A lost connection is noticed after a pause of one heartbeat and a query time-out of two.
      const timeout = sleep(3 * heartbeat, undefined, { signal: stop.signal }).catch(() => {})
      await Promise.race([answered, timeout])
    } finally {
      barriers.delete(token)
    }
  }

  /** Listens until closed. Reconnects when the connection is lost or silent. */
  async function run(): Promise<void> {
    // The delay starts again at 50 ms after each successful connection, which `retry` cannot express.
    for (let delay = 100; !stop.signal.aborted; delay = Math.min(delay * 2, 2_000)) {
      const lost = new AbortController()
      const ended = AbortSignal.any([stop.signal, lost.signal])
      try {
        await connect(ended, () => lost.abort())
        setListening(true)
        delay = 50
        // The query runs even without barriers: only sending reveals a connection that was cut silently.
        while (!ended.aborted) {
          pause = new AbortController()
          if (unanswered.length === 0)
            await sleep(heartbeat, undefined, { signal: pause.signal }).catch(() => {})
          if (!ended.aborted) await client!.query(answerBarriers, [unanswered.splice(0)])
        }
      } catch (error) {
        report(error as Error)
      }
      // Late notifications of the abandoned connection would be out of order.
      lost.abort()
      setListening(false)
      await disconnect()
      await sleep(delay, undefined, { signal: stop.signal }).catch(() => {})
    }
  }

  async function connect(ended: AbortSignal, onLost: () => void): Promise<void> {
    pid = 0
    unanswered = []
    client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      query_timeout: 2 * heartbeat,
      keepAlive: true,
    })
    client.on('error', (error) => {
      report(error)
      onLost()
    })
    client.on('end', onLost)
    client.on('notification', ({ channel, payload = '' }) => {
      if (!ended.aborted) callAll(channels.get(channel) ?? [], payload)
    })
    // `connect` never settles when the client is ended, or loses its connection, while it connects.
    const aborted = new Promise<false>((resolve) =>
      ended.addEventListener('abort', () => {
        resolve(false)
        pause.abort()
      }),
    )
    if (!(await Promise.race([client.connect().then(() => true), aborted])))
      throw new Error('the listening connection was lost')
    // With a pooler, the process id that the client knows is the pooler's.
    pid = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0].pid
    // In one query, and the name first: a named connection is waited for, so it must listen by then.
    const listens = [...channels.keys()].map((channel) => `LISTEN ${pg.escapeIdentifier(channel)}`)
    await client.query([setName, ...listens].join('; '))
  }

  function setListening(now: boolean): void {
    if (listening === now) return
    listening = now
    callAll(stateCallbacks, now)
  }

  function callAll<T>(callbacks: Array<(value: T) => void>, value: T): void {
    for (const callback of callbacks) {
      try {
        callback(value)
      } catch (error) {
        report(error as Error)
      }
    }
  }

  /** Errors after `close` are expected and not reported. */
  function report(error: Error): void {
    if (!stop.signal.aborted) onError(error)
  }

  /** Waits only briefly: `end` never settles for a connection that broke while it was established. */
  async function disconnect(): Promise<void> {
    await Promise.race([client?.end().catch(() => {}), sleep(500)])
  }
}
