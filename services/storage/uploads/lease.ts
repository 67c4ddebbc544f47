// The lease of an upload. Across all servers, one request at a time writes to an upload: it leases the
// upload's row for some seconds and renews the lease while it works. Requests that wait mark the row. A lease
// holder that receives no more bytes then releases the lease, so a client whose connection broke can resume
// before the server notices the disconnect.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../../../infra/database/database.ts'
import * as sql from '../../../generated/sql/storage.ts'
import { inProgress, notFound } from '../../../infra/errors.ts'
import type { Multipart } from '../blobs/blob-store.ts'
import { addHolder, hasWaiters, joinWaiters } from './lease-waiters.ts'

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
  /**
   * Stores how many bytes are durable, and where they are in S3. Throws 409, and stores nothing, when the
   * lease is lost.
   */
  recordProgress(received: number, multipart?: Multipart): Promise<void>
  /** Stores the name of the partial file that has the bytes from now on. Throws 409 for a lost lease. */
  relocate(tempName: string): Promise<void>
  /** Calls back every second with whether another request waits for the lease. Null removes the callback. */
  onHeartbeat(callback: ((isRequested: boolean) => void) | null): void
  release(): Promise<void>
}

/**
 * Waits for the lease of an upload. Throws 409 after a time-out, or at once if several requests wait already,
 * and 404 when the upload no longer exists.
 */
export async function acquireUploadLease(db: Db, id: string): Promise<Lease> {
  const holder = randomUUID()
  const lease = await tryAcquire(db, id, holder)
  if (lease !== null) return lease
  const waiter = joinWaiters(id)
  if (waiter === null) throw writing()
  try {
    for (const deadline = performance.now() + acquireTimeoutMs; performance.now() < deadline;) {
      const row = await sql.requestLease(db, { id })
      if (row === undefined) throw notFound('upload', id)
      if (row.is_held) await waiter.wait()
      const lease = await tryAcquire(db, id, holder)
      if (lease !== null) return lease
    }
    throw writing()
  } finally {
    waiter.leave()
  }
}

async function tryAcquire(db: Db, id: string, holder: string): Promise<Lease | null> {
  const requestedAt = performance.now()
  const row = await sql.acquireLease(db, { id, holder, lease_seconds: leaseMs / 1000 })
  return row === undefined ? null : createLease(db, id, holder, requestedAt, row)
}

/**
 * Asks the lease holder to release the lease and waits for it, unless several requests wait already.
 * @returns whether there was a lease holder.
 */
export async function requestUploadLease(db: Db, id: string, timeoutMs = 2_500): Promise<boolean> {
  if ((await sql.readIsHeld(db, { id }))?.is_held !== true) return false
  const waiter = joinWaiters(id)
  if (waiter === null) return true
  try {
    const deadline = performance.now() + timeoutMs
    for (let left = timeoutMs; left > 0; left = deadline - performance.now()) {
      if ((await sql.requestLease(db, { id }))?.is_held !== true) break
      await Promise.race([waiter.wait(), sleep(left, undefined, { ref: false })])
    }
    return true
  } finally {
    waiter.leave()
  }
}

function writing(): Error {
  return inProgress('Another request is writing to this upload.')
}

function createLease(
  db: Db,
  id: string,
  holder: string,
  acquiredAt: number,
  row: sql.AcquireLeaseRow,
): Lease {
  let { temp_name: tempName, was_expired: wasExpired } = row
  let renewedAt = acquiredAt
  let heartbeat: ((isRequested: boolean) => void) | null = null
  let isReleased = false
  const removeHolder = addHolder(id)
  /** A statement that finds no row of this holder proves that the lease is lost. */
  const requireRow = <T>(row: T | undefined): T => {
    if (row !== undefined) return row
    renewedAt = -Infinity
    throw leaseLost()
  }
  const renewLease = async (
    progress: { received: number | null; multipart: Multipart | null } = { received: null, multipart: null },
  ): Promise<boolean> => {
    const sentAt = performance.now()
    const lease = { id, holder, lease_seconds: leaseMs / 1000 }
    const row = requireRow(await sql.renewLease(db, { ...lease, ...progress }))
    renewedAt = Math.max(renewedAt, sentAt)
    return row.is_requested
  }
  const checkIsRequested = async (): Promise<boolean> => {
    return performance.now() - renewedAt > renewalIntervalMs - heartbeatIntervalMs / 2
      ? await renewLease()
      : requireRow(await sql.readIsRequested(db, { id, holder })).is_requested
  }
  const timer = setInterval(() => {
    // Errors are ignored: a short outage of the database has no effect, a longer one lets the lease expire.
    void checkIsRequested()
      .then((isRequested) => heartbeat?.(isRequested || hasWaiters(id)))
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
    async recordProgress(received, multipart = undefined) {
      await renewLease({ received, multipart: multipart ?? null })
    },
    async relocate(to) {
      requireRow(await sql.setTempName(db, { id, holder, temp_name: to }))
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
      await sql.releaseLease(db, { id, holder, keep_holder: wasExpired }).catch(() => {})
      removeHolder()
    },
  }
}

/** The 409 for a request whose lease another request has acquired. */
export function leaseLost(): Error {
  return inProgress('Another request took over this upload.')
}
