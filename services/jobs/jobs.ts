// Tracked jobs: work on many resources that a request begins. A worker does it in steps: each is a
// transaction that counts what it has done, so a killed worker loses nothing, and another one continues.
import type { components } from '../../generated/types.ts'
import * as sql from '../../generated/sql/tracked_jobs.ts'
import type { ListQuery } from '../../infra/contract/query.ts'
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db, SqlClient, Transaction } from '../../infra/database/database.ts'
import type { Page } from '../../infra/database/pagination.ts'
import { invalidState } from '../../infra/errors.ts'
import { newId, timeOf } from '../../infra/ids.ts'
import type { Queue, QueueOptions } from '../../infra/jobs/queue.ts'
import { deleteBatch, type RetentionTask } from '../../infra/jobs/retention.ts'
import type { Emitter } from '../events/emit.ts'
import { requireAccess } from '../projects/resource-access.ts'
import { openWorkspace, type WorkspaceFilter } from '../projects/workspaces.ts'
import type { Principal } from '../users/authentication.ts'

export type Job = components['schemas']['Job']

/** A job with its internal columns. */
export type LockedJob = sql.LockJobRow

export interface TrackedJobData {
  job_id: string
  /** The group of the job in the queue. */
  workspace_id: string
  /** The number of failed attempts. */
  tries: number
}

export const trackedJobQueue: QueueOptions = {
  name: 'tracked_jobs',
  // Longer than any job takes. A worker that dies is noticed earlier, by its missing heartbeat.
  expireInSeconds: 86_400,
  heartbeatSeconds: 30,
  // The jobs of a workspace run one after the other.
  groupConcurrency: 1,
}

/** What a type of jobs does. */
export interface JobKind {
  /** Does a part of the work. `done`: how many resources. `more`: whether some are left. */
  step(tx: Transaction, job: LockedJob): Promise<{ done: number; more: boolean }>
  /** Called before the row of a canceled or failed job is locked: takes locks that come first. */
  prepareUndo?(tx: Transaction, workspaceId: string): Promise<void>
  /** Gives back what the job has not done. */
  undo?(tx: Transaction, job: LockedJob): Promise<void>
}

export type JobKinds = Record<Job['type'], JobKind>

export interface JobServices {
  trackedJobs: Queue<TrackedJobData>
  events: Emitter
}

export interface NewJob {
  /** The id, if rows refer to it already. */
  id?: string
  type: Job['type']
  projectId: string | null
  ownerId: string
  resourceId?: string
  total: number
  until?: string
}

/** Inserts a job, adds it to the queue and emits `job.created`. */
export async function startJob(
  tx: Transaction,
  { trackedJobs, events }: JobServices,
  { id = newId('job'), type, projectId, ownerId, resourceId, total, until }: NewJob,
): Promise<Job> {
  const job = await sql.insertJob(tx, {
    id,
    type,
    project_id: projectId,
    owner_id: ownerId,
    resource_id: resourceId ?? null,
    total,
    until: until ?? null,
    created_at: timeOf(id),
  })
  const data = { job_id: id, workspace_id: projectId ?? ownerId, tries: 0 }
  await trackedJobs.add(tx, [{ data, group: data.workspace_id }])
  await events.emit(tx, 'job.created', job, { userId: ownerId })
  return job
}

interface JobRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  noteProject?(id: string): void
}

/** Loads the job of the request and authorizes the operation. @throws 404, 403 or 409 */
export async function openJob(
  db: Db,
  { params: { id }, ...request }: JobRequest,
): Promise<Job & { workspace_id: string }> {
  const row = await sql.readJob(db, { id, user_id: request.principal.userId })
  requireAccess(row, request, { name: 'job', id })
  const { your_role: _role, project_status: _project, owner_id: _owner, ...job } = row
  return job
}

export async function listJobs(
  db: SqlClient,
  workspaces: WorkspaceFilter,
  query: ListQuery<'listJobs'>,
): Promise<Page<Job>> {
  const { data, pagination } = await sql.listJobs(db, { ...query, ...workspaces })
  return { data: data.map(({ total_of_job: total, ...job }) => ({ ...job, total })), pagination }
}

/** Stops a job and emits `job.canceled`. @throws 409 for a job that has ended otherwise. */
export async function cancelJob(
  tx: Transaction,
  events: Emitter,
  kinds: JobKinds,
  request: JobRequest,
): Promise<Job> {
  const { id, type, project_id: projectId, workspace_id: workspaceId } = await openJob(tx, request)
  await openWorkspace(tx, request, projectId, { lock: true })
  await kinds[type].prepareUndo?.(tx, workspaceId)
  const job = (await sql.lockJob(tx, { id }))!
  if (job.status === 'canceled') return toJob(job)
  if (job.status === 'succeeded' || job.status === 'failed') throw invalidState('job', job.status)
  return await endJob(tx, events, kinds, job, { status: 'canceled', error: null })
}

/** Ends a locked job that is not done. */
export async function endJob(
  tx: Transaction,
  events: Emitter,
  kinds: JobKinds,
  job: LockedJob,
  { status, error }: { status: 'canceled' | 'failed'; error: string | null },
): Promise<Job> {
  await kinds[job.type].undo?.(tx, job)
  const ended = await sql.advanceJob(tx, { id: job.id, n: 0, status, error })
  await events.emit(tx, `job.${status}`, ended, { previous: toJob(job), userId: job.owner_id })
  return ended
}

/** Whether a worker still works on the job. */
export function isActive({ status }: Pick<Job, 'status'>): boolean {
  return status === 'queued' || status === 'running'
}

function toJob({ workspace_id: _workspace, owner_id: _owner, until: _until, ...job }: LockedJob): Job {
  return job
}

export function jobRetentionTasks(): RetentionTask[] {
  return [{ name: 'ended jobs', step: deleteBatch(sql.deleteOldJobs, 1000) }]
}
