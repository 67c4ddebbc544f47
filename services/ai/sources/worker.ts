// The source worker: syncs the sources that are due, one of each workspace at once.
import * as sql from '../../../generated/sql/sources.ts'
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
    const source = await sql.claimSource(options.database, { lease_seconds: leaseSeconds })
    if (source === undefined) return false
    loop.track(syncSource(options, source, loop.signal))
    return true
  }
}
