// The lease of an upload. Across all servers, one request at a time writes to an upload: it leases the
// upload's row for some seconds and renews the lease while it works. Requests that wait mark the row. A lease
// holder that receives no more bytes then releases the lease, so a client whose connection broke can resume
// before the server notices the disconnect.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { conflict, notFound } from '../../../infra/errors.ts'

/** Milliseconds until a lease expires that is not renewed, because its process crashed. */
const leaseMs = 10_000
/** Milliseconds between two renewals. */
const renewalIntervalMs = 3_000
/** Milliseconds between two checks whether another request waits. */
const heartbeatIntervalMs = 1_000
/** Milliseconds that a request waits for a lease: longer than a crashed holder keeps it. */
const acquireTimeoutMs = 15_000
/** A lease counts as lost this many milliseconds before it expires, so that no write ends too late. */
const safetyMarginMs = 2_000

const acquire = statement<{ temp_name: string; was_expired: boolean }>(`
  UPDATE uploads u
  SET holder = $2, held_until = now() + interval '${leaseMs} milliseconds', lease_requested_at = NULL
  FROM (SELECT id, holder FROM uploads WHERE id = $1 FOR UPDATE) before
  WHERE u.id = before.id AND (u.held_until IS NULL OR u.held_until < now())
  RETURNING coalesce(u.temp_name, u.id) AS temp_name, before.holder IS NOT NULL AS was_expired`)
const requestLease = statement<{ is_held: boolean }>(`
  UPDATE uploads SET lease_requested_at = now() WHERE id = $1
  RETURNING coalesce(held_until >= now(), false) AS is_held`)
const readIsHeld = statement<{ is_held: boolean }>(
  'SELECT coalesce(held_until >= now(), false) AS is_held FROM uploads WHERE id = $1',
)
const isRequested = "coalesce(lease_requested_at > now() - interval '3 seconds', false) AS is_requested"
const readIsRequested = statement<{ is_requested: boolean }>(
  `SELECT ${isRequested} FROM uploads WHERE id = $1 AND holder = $2`,
)
const renew = statement<{ is_requested: boolean }>(`
  UPDATE uploads
  SET held_until = now() + interval '${leaseMs} milliseconds', received = coalesce($3, received)
  WHERE id = $1 AND holder = $2 RETURNING ${isRequested}`)
const setTempName = statement<{ id: string }>(
  'UPDATE uploads SET temp_name = $3 WHERE id = $1 AND holder = $2 RETURNING id',
)
// $3: the partial file of an expired holder is still in use. The row then keeps a holder, so that the next
// lease knows that it must relocate.
const release = statement(`
  UPDATE uploads SET holder = CASE WHEN $3 THEN holder END, held_until = NULL, lease_requested_at = NULL
  WHERE id = $1 AND holder = $2`)

export interface Lease {
  /** The id of the lease holder, as stored in the row. */
  readonly id: string
  /** The name of the partial file with the bytes of the upload. */
  readonly tempName: string
  /**
   * Whether the previous lease expired instead of being released. Its holder may still be alive and writing
   * to the partial file: `relocate` to another file before any write.
   */
  readonly wasExpired: boolean
  /** Throws 409 when the lease may be lost. To be called before each write. */
  assertHeld(): void
  /** Stores how many bytes are durable. Throws 409, and stores nothing, when the lease is lost. */
  recordProgress(received: number): Promise<void>
  /** Stores the name of the partial file that has the bytes from now on. Throws 409 for a lost lease. */
  relocate(tempName: string): Promise<void>
  /** Calls back every second with whether another request waits for the lease. Null removes the callback. */
  onHeartbeat(callback: ((isRequested: boolean) => void) | null): void
  release(): Promise<void>
}

/**
 * Waits for the lease of an upload. Throws 409 after a time-out, and 404 when the upload no longer exists.
 */
export async function acquireUploadLease(db: Db, id: string): Promise<Lease> {
  const holder = randomUUID()
  const deadline = performance.now() + acquireTimeoutMs
  for (let requestedAt = performance.now(); ; requestedAt = performance.now()) {
    const [row] = await db.sql(acquire, [id, holder])
    if (row !== undefined) return createLease(db, id, holder, requestedAt, row)
    if (performance.now() > deadline)
      throw conflict('in_progress', 'Another request is writing to this upload.')
    if ((await db.sql(requestLease, [id])).length === 0) throw notFound('upload', id)
    await sleep(50 + Math.random() * 100)
  }
}

/** Asks the lease holder to release the lease and waits for it. @returns whether there was a lease holder. */
export async function requestUploadLease(db: Db, id: string, timeoutMs = 2_500): Promise<boolean> {
  const deadline = performance.now() + timeoutMs
  if ((await db.sql(readIsHeld, [id]))[0]?.is_held !== true) return false
  while (performance.now() < deadline && (await db.sql(requestLease, [id]))[0]?.is_held === true)
    await sleep(100)
  return true
}

function createLease(
  db: Db,
  id: string,
  holder: string,
  acquiredAt: number,
  row: { temp_name: string; was_expired: boolean },
): Lease {
  let { temp_name: tempName, was_expired: wasExpired } = row
  let renewedAt = acquiredAt
  let heartbeat: ((isRequested: boolean) => void) | null = null
  let isReleased = false
  /** A statement that finds no row of this holder proves that the lease is lost. */
  const requireRow = <T>([row]: T[]): T => {
    if (row !== undefined) return row
    renewedAt = -Infinity
    throw leaseLost()
  }
  const renewLease = async (received: number | null): Promise<boolean> => {
    const sentAt = performance.now()
    const row = requireRow(await db.sql(renew, [id, holder, received]))
    renewedAt = Math.max(renewedAt, sentAt)
    return row.is_requested
  }
  const checkIsRequested = async (): Promise<boolean> => {
    return performance.now() - renewedAt > renewalIntervalMs - heartbeatIntervalMs / 2
      ? await renewLease(null)
      : requireRow(await db.sql(readIsRequested, [id, holder])).is_requested
  }
  const timer = setInterval(() => {
    // Errors are ignored: a short outage of the database has no effect, a longer one lets the lease expire.
    void checkIsRequested()
      .then((isRequested) => heartbeat?.(isRequested))
      .catch(() => {})
  }, heartbeatIntervalMs)
  timer.unref()
  return {
    id: holder,
    get tempName() {
      return tempName
    },
    get wasExpired() {
      return wasExpired
    },
    assertHeld() {
      if (performance.now() - renewedAt > leaseMs - safetyMarginMs) throw leaseLost()
    },
    async recordProgress(received) {
      await renewLease(received)
    },
    async relocate(to) {
      requireRow(await db.sql(setTempName, [id, holder, to]))
      tempName = to
      wasExpired = false
    },
    onHeartbeat(callback) {
      heartbeat = callback
    },
    async release() {
      if (isReleased) return
      isReleased = true
      clearInterval(timer)
      // When this fails, the lease expires.
      await db.sql(release, [id, holder, wasExpired]).catch(() => {})
    },
  }
}

/** The 409 for a request whose lease another request has acquired. */
export function leaseLost(): Error {
  return conflict('in_progress', 'Another request took over this upload.')
}
