// The worker of tracked jobs: does the steps of a job one after the other, each in a transaction that counts
// what it has done. A job that fails again and again ends, and what is left of it is given back.
import * as sql from '../../generated/sql/tracked_jobs.ts'
import type { Database, Transaction } from '../../infra/database/database.ts'
import { RolledBack } from '../../infra/errors.ts'
import type { JobOutcome } from '../../infra/jobs/job-runs.ts'
import type { Job, Queue } from '../../infra/jobs/queue.ts'
import { WorkerLoop, type BackgroundWorker } from '../../infra/jobs/worker-loop.ts'
import type { Emitter } from '../events/emit.ts'
import { endJob, isActive, type JobKinds, type TrackedJobData } from './jobs.ts'

export interface TrackedJobWorkerOptions {
  database: Database
  trackedJobs: Queue<TrackedJobData>
  events: Emitter
  kinds: JobKinds
  onError: (error: Error) => void
  interval?: number
  drainTimeoutMs?: number
}

const atOnce = 4
const heartbeatIntervalMs = 10_000
/** Seconds before each retry. */
const retryDelays = [5, 30, 120, 600]
/** How often the worker of a job may be lost before the job fails. */
const maxLosses = 20

/** Another worker has the job: the transaction rolls back. */
class JobLost extends RolledBack {}

export function createTrackedJobWorker({
  interval,
  drainTimeoutMs,
  ...options
}: TrackedJobWorkerOptions): BackgroundWorker {
  const { database, trackedJobs, events, kinds, onError } = options
  return new WorkerLoop({ poll, onError, interval, drainTimeoutMs })

  async function poll(loop: WorkerLoop): Promise<boolean> {
    const free = atOnce - loop.running
    const fetched = free > 0 ? await trackedJobs.fetch(free) : []
    for (const job of fetched) loop.track(trackedJobs.run(job, () => run(job, loop)))
    return fetched.length > 0
  }

  async function run(job: Job<TrackedJobData>, loop: WorkerLoop): Promise<JobOutcome> {
    let isLost = false
    const heartbeat = setInterval(() => {
      trackedJobs.heartbeat([job]).then((owned) => (isLost ||= !owned.has(job.id)), onError)
    }, heartbeatIntervalMs)
    try {
      if (job.fetches > maxLosses) throw new Error(`the worker was lost ${maxLosses} times`)
      for (let more = true; more && !isLost;) {
        if (loop.isStopping) return await addAgain(job, new Date(), job.data.tries)
        more = await database.transaction((tx) => step(tx, job))
      }
    } catch (error) {
      if (error instanceof JobLost) return
      return await retryOrFail(job, error as Error)
    } finally {
      clearInterval(heartbeat)
    }
  }

  /** @returns whether there is more to do. */
  async function step(tx: Transaction, queued: Job<TrackedJobData>): Promise<boolean> {
    const job = await sql.lockJob(tx, { id: queued.data.job_id })
    if (job === undefined || !isActive(job)) {
      await requireOwned(tx, queued)
      return false
    }
    const { done, more } = await kinds[job.type].step(tx, job)
    const status = more ? 'running' : 'succeeded'
    const advanced = await sql.advanceJob(tx, { id: job.id, n: done, status, error: null })
    await events.emit(tx, more ? 'job.progressed' : 'job.succeeded', advanced, { userId: job.owner_id })
    if (!more) await requireOwned(tx, queued)
    return more
  }

  /** Completes the job in the queue. Throws unless it is still that of this worker. */
  async function requireOwned(tx: Transaction, job: Job<TrackedJobData>): Promise<void> {
    if (!(await trackedJobs.complete(tx, [job])).has(job.id)) throw new JobLost('another worker has the job')
  }

  async function retryOrFail(job: Job<TrackedJobData>, cause: Error): Promise<'failed'> {
    const { tries, job_id: id } = job.data
    onError(new Error(`the job ${id} failed (attempt ${tries + 1})`, { cause }))
    const delay = job.fetches > maxLosses ? undefined : retryDelays[tries]
    if (delay === undefined) await database.transaction((tx) => fail(tx, job)).catch(ignoreLoss)
    else await addAgain(job, new Date(Date.now() + delay * 1000), tries + 1)
    return 'failed'
  }

  async function fail(tx: Transaction, queued: Job<TrackedJobData>): Promise<void> {
    const { job_id: id, workspace_id: workspaceId } = queued.data
    const found = await sql.findJobType(tx, { id })
    if (found !== undefined) await kinds[found.type].prepareUndo?.(tx, workspaceId)
    const job = await sql.lockJob(tx, { id })
    const error = 'The job failed several times.'
    if (job !== undefined && isActive(job)) await endJob(tx, events, kinds, job, { status: 'failed', error })
    await requireOwned(tx, queued)
  }

  async function addAgain(job: Job<TrackedJobData>, startAfter: Date, tries: number): Promise<void> {
    const data = { ...job.data, tries }
    await database
      .transaction(async (tx) => {
        await trackedJobs.add(tx, [{ data, group: data.workspace_id, startAfter }])
        await requireOwned(tx, job)
      })
      .catch(ignoreLoss)
  }
}

function ignoreLoss(error: unknown): void {
  if (!(error instanceof JobLost)) throw error
}
