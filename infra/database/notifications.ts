// Hears what the database tells at its commits: one connection for every channel of a process, made again
// whenever it is lost or silent. What is told meanwhile is lost, so whoever listens learns when that begins
// and when it ends.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Db } from './database.ts'
import { statement } from './statements.ts'

export interface Listener {
  /**
   * Calls `hear` with the payload of every notification on the channel, in the order of the commits. It does
   * its work before it returns; what it throws is reported and stops nothing. To be called before start.
   */
  on(channel: string, hear: (payload: string) => void): void
  /**
   * Calls `changed` when notifications begin to be heard, and when they end to be: until the next beginning
   * they are lost.
   */
  onState(changed: (listening: boolean) => void): void
  /**
   * After a commit: waits until every other listener of the database has heard what it told, or has been
   * silent for so long that it knows itself not to be listening.
   */
  settle(): Promise<void>
  readonly listening: boolean
  start(): void
  close(): Promise<void>
}

export interface ListenerOptions {
  db: Db
  /** For the connection that listens. */
  url: string
  onError?: (error: Error) => void
  /** How often the connection is asked for a sign of life; the same in every process. Default 1,000 ms. */
  heartbeat?: number
}

// The name is given by the connection that listens, when it does: an address may name all of its connections
// otherwise.
const introduce = "SET application_name = 'platform listener'"
const otherListeners = statement<{ pid: number }>(`
  SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'platform listener' AND pid <> $1`)
const raiseBarrier = statement("SELECT pg_notify('barrier', $1)")
const answerBarriers =
  "SELECT pg_notify('barrier_heard', token || ' ' || pg_backend_pid()) FROM unnest($1::text[]) AS token"

export function createListener({
  db,
  url,
  onError = () => {},
  heartbeat = 1_000,
}: ListenerOptions): Listener {
  const channels = new Map<string, Array<(payload: string) => void>>()
  const watchers: Array<(listening: boolean) => void> = []
  const barriers = new Map<string, (backend: string) => void>()
  const stop = new AbortController()
  let client: pg.Client | null = null
  /** The backend that the connection speaks to. */
  let pid = 0
  /** The barriers that are heard and not yet answered. */
  let asked: string[] = []
  let pause = new AbortController()
  let listening = false
  let running: Promise<void> | undefined

  // Every listener answers, whatever else it listens for: all of them are waited for.
  on('barrier', (token) => {
    asked.push(token)
    pause.abort()
  })
  on('barrier_heard', (payload) => {
    const [token, backend] = payload.split(' ')
    barriers.get(token)?.(backend)
  })

  return {
    on,
    onState(changed) {
      watchers.push(changed)
    },
    settle,
    get listening() {
      return listening
    },
    start() {
      running ??= run()
    },
    async close() {
      stop.abort()
      await hangUp()
      await running
    },
  }

  function on(channel: string, hear: (payload: string) => void): void {
    if (running !== undefined) throw new Error(`the listener has started without the channel ${channel}`)
    channels.set(channel, [...(channels.get(channel) ?? []), hear])
  }

  /**
   * Notifications come in the order of their commits: who has heard the barrier has heard of every change
   * before it.
   */
  async function settle(): Promise<void> {
    const others = new Set((await db.sql(otherListeners, [pid])).map((other) => String(other.pid)))
    if (others.size === 0) return
    const token = randomUUID()
    const heard = new Promise<void>((resolve) => {
      barriers.set(token, (backend) => {
        if (others.delete(backend) && others.size === 0) resolve()
      })
    })
    try {
      await db.sql(raiseBarrier, [token])
      // Between two signs of life lies a heartbeat, and the second is waited for as long as two.
      await Promise.race([heard, sleep(3 * heartbeat, undefined, { signal: stop.signal }).catch(() => {})])
    } finally {
      barriers.delete(token)
    }
  }

  /** Listens until closed, connecting again whenever the connection is lost or silent. */
  async function run(): Promise<void> {
    for (let wait = 100; !stop.signal.aborted; wait = Math.min(wait * 2, 2_000)) {
      const cut = new AbortController()
      const over = AbortSignal.any([stop.signal, cut.signal])
      try {
        await connect(over, () => cut.abort())
        turn(true)
        wait = 50
        // Even with nothing to answer: a connection that was cut without a word is only noticed by speaking.
        while (!over.aborted) {
          pause = new AbortController()
          if (asked.length === 0) await sleep(heartbeat, undefined, { signal: pause.signal }).catch(() => {})
          if (!over.aborted) await client!.query(answerBarriers, [asked.splice(0)])
        }
      } catch (error) {
        report(error as Error)
      }
      // What a connection that was given up delivers late would come out of order.
      cut.abort()
      turn(false)
      await hangUp()
      await sleep(wait, undefined, { signal: stop.signal }).catch(() => {})
    }
  }

  async function connect(over: AbortSignal, lost: () => void): Promise<void> {
    pid = 0
    asked = []
    client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      query_timeout: 2 * heartbeat,
      keepAlive: true,
    })
    client.on('error', (error) => {
      report(error)
      lost()
    })
    client.on('end', lost)
    client.on('notification', ({ channel, payload = '' }) => {
      if (!over.aborted) tell(channels.get(channel) ?? [], payload)
    })
    // A client that is ended, or loses its connection, while it connects never says so.
    const gone = new Promise<false>((resolve) =>
      over.addEventListener('abort', () => {
        resolve(false)
        pause.abort()
      }),
    )
    if (!(await Promise.race([client.connect().then(() => true), gone])))
      throw new Error('the connection that listens was lost')
    // The client's own idea of it is the pooler's where there is one.
    pid = (await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0].pid
    // Together, and the name first: who listens is waited for, and who does not yet is not.
    await client.query(
      [introduce, ...[...channels.keys()].map((channel) => `LISTEN ${pg.escapeIdentifier(channel)}`)].join(
        '; ',
      ),
    )
  }

  function turn(now: boolean): void {
    if (listening === now) return
    listening = now
    tell(watchers, now)
  }

  function tell<T>(hearers: Array<(what: T) => void>, what: T): void {
    for (const hear of hearers) {
      try {
        hear(what)
      } catch (error) {
        report(error as Error)
      }
    }
  }

  /** What breaks because of the end is no error. */
  function report(error: Error): void {
    if (!stop.signal.aborted) onError(error)
  }

  /** The end of a connection that broke while it was made never comes: it is not waited for long. */
  async function hangUp(): Promise<void> {
    await Promise.race([client?.end().catch(() => {}), sleep(500)])
  }
}
