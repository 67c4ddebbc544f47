// The export worker: writes an export into a temporary file, stores that as a blob, and completes the job in
// the transaction that makes the export ready. An attempt that fails leaves no file, and the next one begins
// again.
import { Readable } from 'node:stream'
import * as sql from '../../generated/sql/exports.ts'
import type { Config } from '../../infra/config/config.ts'
import type { Database, Transaction } from '../../infra/database/database.ts'
import { RolledBack } from '../../infra/errors.ts'
import { newId } from '../../infra/ids.ts'
import type { JobOutcome } from '../../infra/jobs/job-runs.ts'
import type { Job, Queue } from '../../infra/jobs/queue.ts'
import { WorkerLoop, type BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import type { Emitter } from '../events/emit.ts'
import type { Storage } from '../storage/storage.ts'
import { toExport, type ExportJob } from './exports.ts'
import { writeExport } from './write-export.ts'

export interface ExportWorkerOptions {
  database: Database
  exports: Queue<ExportJob>
  events: Emitter
  storage: Storage
  config: Pick<Config, 'publicUrl' | 'filesUrl'>
  onError: (error: Error) => void
  interval?: number
  drainTimeoutMs?: number
}

const atOnce = 2
const heartbeatIntervalMs = 10_000
/** Seconds before each retry. */
const retryDelays = [10, 60, 600, 3_600]
/** How often the worker of a job may be lost before the export fails. */
const maxLosses = 3
/** How long a complete export is kept. */
const keptDays = 7

/** The account was deleted, or another worker has the job: the transaction rolls back. */
class ExportLost extends RolledBack {}

type Content = { blob_key: string; bytes: number; sha256: string }
const noContent = { blob_key: null, bytes: null, sha256: null }

export function createExportWorker({
  interval,
  drainTimeoutMs,
  ...options
}: ExportWorkerOptions): BackgroundWorker {
  const { database, exports, events, storage, config, onError } = options
  return new WorkerLoop({ poll, onError, interval, drainTimeoutMs })

  async function poll(loop: WorkerLoop): Promise<boolean> {
    const free = atOnce - loop.running
    const fetched = free > 0 ? await exports.fetch(free) : []
    for (const job of fetched) loop.track(exports.run(job, () => run(job, loop.signal)))
    return fetched.length > 0
  }

  async function run(job: Job<ExportJob>, stop: AbortSignal): Promise<JobOutcome> {
    const lost = new AbortController()
    const heartbeat = setInterval(() => {
      exports.heartbeat([job]).then((owned) => {
        if (!owned.has(job.id)) lost.abort(new ExportLost('another worker has the job'))
      }, onError)
    }, heartbeatIntervalMs)
    try {
      if (job.fetches > maxLosses) throw new Error(`the worker was lost ${maxLosses} times`)
      await write(job, AbortSignal.any([stop, lost.signal]))
    } catch (error) {
      if (error instanceof ExportLost) return
      if (stop.aborted) return await addAgain(job, new Date(), job.data.tries)
      return await retryOrFail(job, error as Error)
    } finally {
      clearInterval(heartbeat)
    }
  }

  async function write(job: Job<ExportJob>, signal: AbortSignal): Promise<void> {
    const { export_id: id, user_id: userId } = job.data
    if ((await sql.beginExport(database, { id })) === undefined)
      return await database.transaction((tx) => requireOwned(tx, job))
    const origin = config.filesUrl ?? config.publicUrl ?? ''
    const source = { db: database, userId, origin }
    const content = Readable.from(writeExport(source, signal), { objectMode: false })
    const declaredType = 'application/json'
    const file = await storage.tempFiles.receive({ declaredType, content }, { maxBytes: Infinity })
    try {
      // A key is used once: an earlier attempt may have left a blob.
      const key = newId('exp')
      const { bytes, sha256 } = file
      await storage.storeBlob(key, file, () =>
        database.transaction((tx) => complete(tx, job, { blob_key: key, bytes, sha256 })),
      )
    } finally {
      await file.discard()
    }
  }

  /** Without content the export has failed. */
  async function complete(tx: Transaction, job: Job<ExportJob>, content: Content | null): Promise<void> {
    const outcome = content ?? noContent
    const row = await sql.completeExport(tx, { id: job.data.export_id, days: keptDays, ...outcome })
    if (row !== undefined) {
      const { user_id: userId, ...completed } = row
      const type = content === null ? 'account_export.failed' : 'account_export.ready'
      await events.emit(tx, type, toExport(completed, ''), { userId })
    }
    await requireOwned(tx, job)
    if (row === undefined && content !== null) throw new ExportLost('the account was deleted')
  }

  /** Completes the job. Throws unless it is still that of this worker. */
  async function requireOwned(tx: Transaction, job: Job<ExportJob>): Promise<void> {
    if (!(await exports.complete(tx, [job])).has(job.id)) throw new ExportLost('another worker has the job')
  }

  async function retryOrFail(job: Job<ExportJob>, cause: Error): Promise<'failed'> {
    const { tries } = job.data
    onError(new Error(`an export could not be written (attempt ${tries + 1})`, { cause }))
    const delay = job.fetches > maxLosses ? undefined : retryDelays[tries]
    if (delay === undefined) await database.transaction((tx) => complete(tx, job, null)).catch(ignoreLoss)
    else await addAgain(job, new Date(Date.now() + delay * 1000), tries + 1)
    return 'failed'
  }

  async function addAgain(job: Job<ExportJob>, startAfter: Date, tries: number): Promise<void> {
    const data = { ...job.data, tries }
    await database
      .transaction(async (tx) => {
        await exports.add(tx, [{ data, group: data.user_id, startAfter }])
        await requireOwned(tx, job)
      })
      .catch(ignoreLoss)
  }
}

function ignoreLoss(error: unknown): void {
  if (!(error instanceof ExportLost)) throw error
}
