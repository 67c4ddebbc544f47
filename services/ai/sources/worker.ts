// The source worker: syncs the sources that are due, one of each owner at once. Owners take turns, so
// that a user with many sources at slow sites does not delay the others.
import * as sql from '../../../generated/sql/sources.ts'
import type { Db } from '../../../infra/database/database.ts'
import { WorkerLoop, type BackgroundWorker } from '../../../infra/jobs/worker-loop.ts'
import { leaseSeconds, syncSource, type SyncOptions } from './sync-source.ts'

export interface SourceWorkerOptions extends SyncOptions {
  /** Milliseconds between two polls. Default 5,000. */
  interval?: number
  /** Milliseconds that running syncs have to finish after a stop. Default 5,000. */
  drainTimeoutMs?: number
}

const atOnce = 2

export function createSourceWorker({
  interval = 5_000,
  drainTimeoutMs,
  ...options
}: SourceWorkerOptions): BackgroundWorker {
  return new WorkerLoop({ poll, onError: options.onError, interval, drainTimeoutMs })

  async function poll(loop: WorkerLoop): Promise<boolean> {
    if (loop.running >= atOnce) return false
    const source = await claimSource(options.database)
    if (source === undefined) return false
    loop.track(syncSource(options, source, loop.signal))
    return true
  }
}

/** Claims a due source of the owner whose turn it is. */
export async function claimSource(db: Db): Promise<sql.ClaimSourceRow | undefined> {
  return await db.transaction(async (tx) => {
    await sql.lockClaims(tx)
    return await sql.claimSource(tx, { lease_seconds: leaseSeconds })
  })
}
