// Who a key speaks for. Known keys are kept in memory; the database tells of every change at its commit, and while it
// cannot be heard nothing is kept. Whoever changes a key answers only when every instance has heard, so that a revocation
// counts from the next request on, everywhere.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import { statement, type Db } from './database.ts'
import { unauthorized } from './errors.ts'
import { digestOf, isWellFormed } from './keys.ts'

export interface Principal {
  userId: string
  keyId: string
  /** What the key may do at this moment: never more than its owner. */
  scopes: ReadonlySet<string>
  /** The only projects the key may touch; null for all of its owner's. */
  projectIds: ReadonlySet<string> | null
}

interface KeyRow {
  id: string
  user_id: string
  scopes: string[]
  project_ids: string[]
  all_projects: boolean
  expires_at: string | null
  revoked_at: string | null
  status: string
  role: string
}

interface Known { principal: Principal, expiresAt: number }

const findKey = statement<KeyRow>(`
  SELECT k.id, k.user_id, k.scopes, k.project_ids, k.all_projects, k.expires_at, k.revoked_at, u.status::text, u.role::text
  FROM api_keys k JOIN users u ON u.id = k.user_id WHERE k.digest = decode($1, 'hex')`)

const listenerName = 'platform keys'
const otherListeners = statement<{ pid: number }>(`
  SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = $2 AND pid <> $1`)
const raiseBarrier = statement("SELECT pg_notify('key_barrier', $1)")

export interface Principals {
  /** @throws 401 with the reason. */
  authenticate (authorization: string | undefined): Promise<Principal>
  /**
   * After the commit of a change: forgets a key (its digest in hex) or all keys of a user (its id) here, and waits until
   * every other instance has heard of it, or has been silent for so long that it keeps no keys.
   */
  settle (digestOrUserId: string): Promise<void>
  /** Whether changes are heard at the moment, and so whether keys are kept. */
  readonly listening: boolean
  close (): Promise<void>
}

export interface PrincipalsOptions {
  db: Db
  /** For the connection that listens. */
  url: string
  onError?: (error: Error) => void
  /** How often the listening connection is asked for a sign of life. Default 1,000 ms. */
  heartbeat?: number
}

const most = 10_000

export function createPrincipals ({ db, url, onError = () => {}, heartbeat = 1_000 }: PrincipalsOptions): Principals {
  const known = new Map<string, Known>()
  const barriers = new Map<string, (pid: string) => void>()
  // A key that is being looked up while a change arrives must not be kept: the answer may be from before the change.
  let changes = 0
  let listening = false
  const stop = new AbortController()
  let client: pg.Client | null = null
  const loop = listen()

  return {
    async authenticate (authorization) {
      if (authorization === undefined || authorization.trim() === '') throw unauthorized('missing')
      const secret = /^bearer +([^ ]+)$/i.exec(authorization.trim())?.[1]
      if (secret === undefined) throw unauthorized('malformed')
      const digest = digestOf(secret)
      const found = known.get(digest)
      if (found !== undefined) {
        if (found.expiresAt > Date.now()) return found.principal
        known.delete(digest)
      }
      if (!isWellFormed(secret)) throw unauthorized('malformed')
      return await lookUp(digest)
    },
    settle,
    get listening () { return listening },
    async close () {
      stop.abort()
      await hangUp()
      await loop
    }
  }

  async function lookUp (digest: string): Promise<Principal> {
    const before = changes
    const [row] = await db.sql(findKey, [digest])
    if (row === undefined) throw unauthorized('unknown')
    if (row.revoked_at !== null) throw unauthorized('revoked')
    const expiresAt = row.expires_at === null ? Infinity : Date.parse(row.expires_at)
    if (expiresAt <= Date.now()) throw unauthorized('expired')
    if (row.status !== 'active') throw unauthorized('disabled')
    const principal: Principal = {
      userId: row.user_id,
      keyId: row.id,
      scopes: new Set(row.scopes.filter((scope) => scope !== 'admin' || row.role === 'admin')),
      projectIds: row.all_projects ? null : new Set(row.project_ids)
    }
    if (listening && before === changes) {
      if (known.size >= most) known.delete(known.keys().next().value!)
      known.set(digest, { principal, expiresAt })
    }
    return principal
  }

  /** Notifications come in the order of their commits: who has heard the barrier has heard of every change before it. */
  async function settle (digestOrUserId: string): Promise<void> {
    forget(digestOrUserId)
    const others = new Set((await db.sql(otherListeners, [ownPid(), listenerName])).map(({ pid }) => String(pid)))
    if (others.size === 0) return
    const token = randomUUID()
    const heard = new Promise<void>((resolve) => {
      barriers.set(token, (pid) => { if (others.delete(pid) && others.size === 0) resolve() })
    })
    try {
      await db.sql(raiseBarrier, [token])
      await Promise.race([heard, sleep(3 * heartbeat, undefined, { signal: stop.signal }).catch(() => {})])
    } finally {
      barriers.delete(token)
    }
  }

  function hear (channel: string, payload: string): void {
    if (channel === 'key_change') forget(payload)
    else if (channel === 'key_barrier') client?.query("SELECT pg_notify('key_heard', $1)", [`${payload} ${ownPid()}`]).catch(onError)
    else {
      const [token, pid] = payload.split(' ')
      barriers.get(token)?.(pid)
    }
  }

  /** The backend that the listening connection speaks to. */
  function ownPid (): number {
    return (client as { processID?: number } | null)?.processID ?? 0
  }

  function forget (digestOrUserId: string): void {
    changes++
    if (known.delete(digestOrUserId)) return
    for (const [digest, { principal }] of known) {
      if (principal.userId === digestOrUserId) known.delete(digest)
    }
  }

  /** The end of a connection that broke while it was made never comes: it is not waited for long. */
  async function hangUp (): Promise<void> {
    await Promise.race([client?.end().catch(() => {}), sleep(500)])
  }

  function deaf (): void {
    listening = false
    changes++
    known.clear()
  }

  /** Listens for changes until closed, connecting again whenever the connection is lost or silent. */
  async function listen (): Promise<void> {
    for (let wait = 100; !stop.signal.aborted; wait = Math.min(wait * 2, 2_000)) {
      try {
        client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, query_timeout: 2 * heartbeat, keepAlive: true, application_name: listenerName })
        const cut = new AbortController()
        const over = AbortSignal.any([stop.signal, cut.signal])
        client.on('error', (error) => { onError(error); cut.abort() })
        client.on('end', () => cut.abort())
        client.on('notification', ({ channel, payload = '' }) => hear(channel, payload))
        // A client that is ended, or loses its connection, while it connects never says so.
        const gone = new Promise<false>((resolve) => over.addEventListener('abort', () => resolve(false)))
        if (!await Promise.race([client.connect().then(() => true), gone])) throw new Error('the connection that hears of changed keys was lost')
        await client.query('LISTEN key_change; LISTEN key_barrier; LISTEN key_heard')
        changes++
        listening = true
        wait = 50
        // A connection that was cut without a word is only noticed by asking.
        while (!over.aborted) {
          await sleep(heartbeat, undefined, { signal: over }).catch(() => {})
          if (!over.aborted) await client.query('SELECT 1')
        }
      } catch (error) {
        if (!stop.signal.aborted) onError(error as Error)
      }
      deaf()
      await hangUp()
      await sleep(wait, undefined, { signal: stop.signal }).catch(() => {})
    }
  }
}
