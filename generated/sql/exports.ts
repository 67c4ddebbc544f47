// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, one, optional } from '../../infra/database/queries.ts'
import type { EventType } from '../events.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Notes that a job writes an export. No row if the account was deleted, or if the export is complete.
 * @see prisma/sql/exports/begin-export.sql
 */
export const beginExport = optional<{ id: string }, BeginExportRow>(
  'exports/begin-export',
  `UPDATE account_exports SET status = 'processing', updated_at = now()
WHERE id = $1 AND status IN ('queued', 'processing')
RETURNING id`,
  ['id'],
)
export interface BeginExportRow {
  id: string
}

/**
 * Stores the outcome of an export: its file, or that it failed. No row if the account was deleted.
 * @see prisma/sql/exports/complete-export.sql
 */
export const completeExport = optional<{ blob_key: string | null; bytes: number | null; sha256: string | null; days: number; id: string }, CompleteExportRow>(
  'exports/complete-export',
  `UPDATE account_exports e
SET status = CASE WHEN $1::text IS NULL THEN 'failed' ELSE 'ready' END::"AccountExportStatus",
  blob_key = $1, bytes = $2, sha256 = $3, updated_at = now(), completed_at = now(),
  expires_at = now() + interval '1 day' * $4::int
WHERE e.id = $5 AND e.status = 'processing'
RETURNING e.id, e.status, e.bytes, e.sha256, e.created_at, e.updated_at, e.completed_at, e.expires_at, e.user_id`,
  ['blob_key', 'bytes', 'sha256', 'days', 'id'],
)
export interface CompleteExportRow {
  id: string
  status: 'queued' | 'processing' | 'ready' | 'failed'
  bytes: number | null
  sha256: string | null
  created_at: string
  updated_at: string
  completed_at: string | null
  expires_at: string | null
  user_id: string
}

/**
 * How many exports a user started in the last 24 hours, and when the first of them no longer counts.
 * @see prisma/sql/exports/count-exports-of-day.sql
 */
export const countExportsOfDay = one<{ user_id: string }, CountExportsOfDayRow>(
  'exports/count-exports-of-day',
  `SELECT count(*)::int AS "n", min(e.created_at) + interval '24 hours' AS "resets_at"
FROM account_exports e
WHERE e.user_id = $1 AND e.status <> 'failed' AND e.created_at > now() - interval '24 hours'`,
  ['user_id'],
  { reads: true },
)
export interface CountExportsOfDayRow {
  n: number
  resets_at: string | null
}

/**
 * Deletes a batch of expired exports. A trigger puts their files into quarantine.
 * @see prisma/sql/exports/delete-expired-exports.sql
 */
export const deleteExpiredExports = one<{ limit: number }, DeleteExpiredExportsRow>(
  'exports/delete-expired-exports',
  `WITH deleted AS (
  DELETE FROM account_exports WHERE id = ANY(ARRAY(
    SELECT id FROM account_exports WHERE expires_at <= now() LIMIT $1
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteExpiredExportsRow {
  n: number
}

/**
 * The file of the latest export of a user that is ready.
 * @see prisma/sql/exports/find-content.sql
 */
export const findContent = optional<{ user_id: string }, FindContentRow>(
  'exports/find-content',
  `SELECT e.blob_key AS "blob_key", e.bytes AS "bytes", e.sha256 AS "sha256",
  e.completed_at AS "completed_at"
FROM account_exports e
WHERE e.user_id = $1 AND e.status = 'ready' AND e.expires_at > now()
ORDER BY e.id DESC LIMIT 1`,
  ['user_id'],
  { reads: true },
)
export interface FindContentRow {
  blob_key: string
  bytes: number
  sha256: string
  completed_at: string
}

/**
 * The latest export of a user.
 * @see prisma/sql/exports/find-latest-export.sql
 */
export const findLatestExport = optional<{ user_id: string }, FindLatestExportRow>(
  'exports/find-latest-export',
  `SELECT e.id, e.status, e.bytes, e.sha256, e.created_at, e.updated_at, e.completed_at, e.expires_at FROM account_exports e
WHERE e.user_id = $1 AND coalesce(e.expires_at > now(), true)
ORDER BY e.id DESC LIMIT 1`,
  ['user_id'],
  { reads: true },
)
export interface FindLatestExportRow {
  id: string
  status: 'queued' | 'processing' | 'ready' | 'failed'
  bytes: number | null
  sha256: string | null
  created_at: string
  updated_at: string
  completed_at: string | null
  expires_at: string | null
}

/**
 * The export of a user that is being written.
 * @see prisma/sql/exports/find-unfinished-export.sql
 */
export const findUnfinishedExport = optional<{ user_id: string }, FindUnfinishedExportRow>(
  'exports/find-unfinished-export',
  `SELECT e.id, e.status, e.bytes, e.sha256, e.created_at, e.updated_at, e.completed_at, e.expires_at FROM account_exports e
WHERE e.user_id = $1 AND e.status IN ('queued', 'processing')`,
  ['user_id'],
  { reads: true },
)
export interface FindUnfinishedExportRow {
  id: string
  status: 'queued' | 'processing' | 'ready' | 'failed'
  bytes: number | null
  sha256: string | null
  created_at: string
  updated_at: string
  completed_at: string | null
  expires_at: string | null
}

/**
 * Queues an export.
 * @see prisma/sql/exports/insert-export.sql
 */
export const insertExport = one<{ id: string; user_id: string; created_at: Date | string }, InsertExportRow>(
  'exports/insert-export',
  `INSERT INTO account_exports AS e (id, user_id, created_at, updated_at)
VALUES ($1, $2, $3, $3)
RETURNING e.id, e.status, e.bytes, e.sha256, e.created_at, e.updated_at, e.completed_at, e.expires_at`,
  ['id', 'user_id', 'created_at'],
)
export interface InsertExportRow {
  id: string
  status: 'queued' | 'processing' | 'ready' | 'failed'
  bytes: number | null
  sha256: string | null
  created_at: string
  updated_at: string
  completed_at: string | null
  expires_at: string | null
}

/**
 * The events about a user, outside of projects, after a sequence.
 * @see prisma/sql/exports/list-events.sql
 */
export const listEvents = many<{ user_id: string; after: number; limit: number }, ListEventsRow>(
  'exports/list-events',
  `SELECT e.sequence AS "sequence", e.id, e.type, e.created_at, 'v1' AS api_version, CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END AS project_id,
CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END AS organization_id, e.request_id, e.client_request_id, e.actor, e.data
FROM events e
WHERE e.project_id IS NULL AND e.user_id = $1 AND e.sequence > $2::bigint
ORDER BY e.sequence LIMIT $3`,
  ['user_id', 'after', 'limit'],
  { reads: true },
)
export interface ListEventsRow {
  sequence: number
  id: string
  type: EventType
  created_at: string
  api_version: 'v1'
  project_id: string | null
  organization_id: string | null
  request_id: string | null
  client_request_id: string | null
  actor: Schemas['PlatformEvent']['actor'] | null
  data: Schemas['PlatformEvent']['data']
}
