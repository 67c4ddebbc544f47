// Generated from prisma/sql by `npm run generate`. Do not edit.
import { one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Counts what a step of a job has done.
 * @see prisma/sql/tracked_jobs/advance-job.sql
 */
export const advanceJob = one<{ n: number; status: string; error: string | null; id: string }, AdvanceJobRow>(
  'tracked_jobs/advance-job',
  `WITH j AS (
  UPDATE tracked_jobs SET done = done + $1::bigint, status = $2,
    started_at = CASE WHEN $2 = 'canceled' THEN started_at ELSE coalesce(started_at, now()) END,
    finished_at = CASE WHEN $2 <> 'running' THEN now() END,
    error = $3
  WHERE id = $4 RETURNING *
)
SELECT j.id, j.type, j.status, j.resource_id, j.done, j.total, j.error, j.owner_id AS created_by,
j.created_at, j.updated_at, j.started_at, j.finished_at, j.project_id FROM j`,
  ['n', 'status', 'error', 'id'],
)
export interface AdvanceJobRow {
  id: string
  type: Schemas['JobType']
  status: Schemas['JobStatus']
  resource_id: string | null
  done: number
  total: number
  error: string | null
  created_by: string
  created_at: string
  updated_at: string
  started_at: string | null
  finished_at: string | null
  project_id: string | null
}

/**
 * Deletes a batch of the jobs that ended 30 days ago.
 * @see prisma/sql/tracked_jobs/delete-old-jobs.sql
 */
export const deleteOldJobs = one<{ limit: number }, DeleteOldJobsRow>(
  'tracked_jobs/delete-old-jobs',
  `WITH deleted AS (
  DELETE FROM tracked_jobs WHERE id = ANY(ARRAY(
    SELECT id FROM tracked_jobs WHERE finished_at < now() - interval '30 days' LIMIT $1
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldJobsRow {
  n: number
}

/**
 * The type of a job.
 * @see prisma/sql/tracked_jobs/find-job-type.sql
 */
export const findJobType = optional<{ id: string }, FindJobTypeRow>(
  'tracked_jobs/find-job-type',
  `SELECT j.type FROM tracked_jobs j WHERE j.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindJobTypeRow {
  type: Schemas['JobType']
}

/**
 * Inserts a job that waits for a worker.
 * @see prisma/sql/tracked_jobs/insert-job.sql
 */
export const insertJob = one<{ id: string; type: string; project_id: string | null; owner_id: string; resource_id: string | null; total: number; until: Date | string | null; created_at: Date | string }, InsertJobRow>(
  'tracked_jobs/insert-job',
  `WITH j AS (
  INSERT INTO tracked_jobs
    (id, type, project_id, owner_id, workspace_id, resource_id, total, until, created_at, updated_at)
  VALUES ($1, $2, $3, $4, coalesce($3, $4), $5, $6,
    $7, $8, $8)
  RETURNING *
)
SELECT j.id, j.type, j.status, j.resource_id, j.done, j.total, j.error, j.owner_id AS created_by,
j.created_at, j.updated_at, j.started_at, j.finished_at, j.project_id FROM j`,
  ['id', 'type', 'project_id', 'owner_id', 'resource_id', 'total', 'until', 'created_at'],
)
export interface InsertJobRow {
  id: string
  type: Schemas['JobType']
  status: Schemas['JobStatus']
  resource_id: string | null
  done: number
  total: number
  error: string | null
  created_by: string
  created_at: string
  updated_at: string
  started_at: string | null
  finished_at: string | null
  project_id: string | null
}

/**
 * The jobs of a workspace, or of all that a user can read. A list has a column `total` of its own.
 * @see prisma/sql/tracked_jobs/list-jobs.sql
 */
export const listJobs = page<{}, { reader: string; least_role: 'owner' | 'admin' | 'editor' | 'viewer'; key_projects: readonly string[] | null; own: string | null; workspace_id: string; organization_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; status: readonly string[]; type: string; created_by: string }, 'created_at' | 'updated_at', ListJobsRow>(
  'tracked_jobs/list-jobs',
  {
    select: `SELECT j.id, j.type, j.status, j.resource_id, j.done, j.total AS total_of_job, j.error,
  j.owner_id AS created_by, j.created_at, j.updated_at, j.started_at, j.finished_at, j.project_id
FROM tracked_jobs j
WHERE true`,
    names: ['reader', 'least_role', 'key_projects', 'own', 'workspace_id', 'organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'status', 'type', 'created_by'],
    filters: {
      reader: { sql: `j.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = $1 AND my.project_status <> 'deleted' AND my.storage_role <= $2::"MemberRole"
    AND ($3::text[] IS NULL OR my.project_id = ANY($3))
  UNION ALL SELECT $4::text)`, otherwise: `j.workspace_id = $5`, searches: true },
      organization_id: { sql: `j.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = $6)`, searches: true },
      created_after: { sql: `j.id >= id_at('job', $7)`, searches: true },
      created_before: { sql: `j.id < id_at('job', $8)`, searches: true },
      updated_after: { sql: `j.updated_at >= $9`, searches: true },
      updated_before: { sql: `j.updated_at < $10`, searches: true },
      status: { sql: `j.status = ANY($11)` },
      type: { sql: `j.type = $12` },
      created_by: { sql: `j.owner_id = $13` },
    },
    sorts: {
      created_at: `j.id`,
      updated_at: `j.updated_at`,
    },
    id: `j.id`,
    totals: {
    },
  },
)
export interface ListJobsRow {
  id: string
  type: Schemas['JobType']
  status: Schemas['JobStatus']
  resource_id: string | null
  done: number
  total_of_job: number
  error: string | null
  created_by: string
  created_at: string
  updated_at: string
  started_at: string | null
  finished_at: string | null
  project_id: string | null
}

/**
 * A job, locked against other writers.
 * @see prisma/sql/tracked_jobs/lock-job.sql
 */
export const lockJob = optional<{ id: string }, LockJobRow>(
  'tracked_jobs/lock-job',
  `SELECT j.id, j.type, j.status, j.resource_id, j.done, j.total, j.error, j.owner_id AS created_by,
j.created_at, j.updated_at, j.started_at, j.finished_at, j.project_id, j.workspace_id, j.owner_id, j.until
FROM tracked_jobs j WHERE j.id = $1
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockJobRow {
  id: string
  type: Schemas['JobType']
  status: Schemas['JobStatus']
  resource_id: string | null
  done: number
  total: number
  error: string | null
  created_by: string
  created_at: string
  updated_at: string
  started_at: string | null
  finished_at: string | null
  project_id: string | null
  workspace_id: string
  owner_id: string
  until: string | null
}

/**
 * A job and the caller's access to it.
 * @see prisma/sql/tracked_jobs/read-job.sql
 */
export const readJob = optional<{ user_id: string; id: string }, ReadJobRow>(
  'tracked_jobs/read-job',
  `SELECT j.id, j.type, j.status, j.resource_id, j.done, j.total, j.error, j.owner_id AS created_by,
j.created_at, j.updated_at, j.started_at, j.finished_at, j.workspace_id, j.project_id, j.owner_id,
(SELECT your_member.storage_role FROM members your_member
 WHERE your_member.project_id = j.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = j.project_id) AS project_status
FROM tracked_jobs j WHERE j.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadJobRow {
  id: string
  type: Schemas['JobType']
  status: Schemas['JobStatus']
  resource_id: string | null
  done: number
  total: number
  error: string | null
  created_by: string
  created_at: string
  updated_at: string
  started_at: string | null
  finished_at: string | null
  workspace_id: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}
