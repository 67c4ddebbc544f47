// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Adds requests to the days of users. Processes that write at the same time lock the rows in the same order.
 * @see prisma/sql/usage/add-to-days.sql
 */
export const addToDays = none<{ users: readonly string[]; days: readonly string[]; requests: readonly number[]; errors: readonly number[]; downloads: readonly number[]; storage: readonly number[] }>(
  'usage/add-to-days',
  `INSERT INTO usage_days AS u (user_id, day, requests, errors, downloaded_bytes, storage_bytes)
SELECT user_id, day::date, requests, errors, downloads, storage
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[],
  $6::bigint[]) AS d(user_id, day, requests, errors, downloads, storage)
ORDER BY 1, 2
ON CONFLICT (user_id, day) DO UPDATE SET
  requests = u.requests + excluded.requests,
  errors = u.errors + excluded.errors,
  downloaded_bytes = u.downloaded_bytes + excluded.downloaded_bytes,
  storage_bytes = excluded.storage_bytes`,
  ['users', 'days', 'requests', 'errors', 'downloads', 'storage'],
)

/**
 * Adds requests to the counts by credential and project. The days of the users are locked before: two
 * processes never wait for each other's rows here.
 * @see prisma/sql/usage/count-requests.sql
 */
export const countRequests = one<{ users: readonly string[]; days: readonly string[]; credentials: readonly string[]; projects: readonly string[]; requests: readonly number[]; errors: readonly number[]; downloads: readonly number[] }, CountRequestsRow>(
  'usage/count-requests',
  `SELECT coalesce(sum(count_usage(c.user_id, c.day::date, c.credential_id, c.project_id, '', c.requests,
  c.errors, c.downloaded_bytes, 0, 0, 0, 0)), 0)::int AS n
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[],
  $6::bigint[], $7::bigint[])
  AS c(user_id, day, credential_id, project_id, requests, errors, downloaded_bytes)`,
  ['users', 'days', 'credentials', 'projects', 'requests', 'errors', 'downloads'],
)
export interface CountRequestsRow {
  n: number
}

/**
 * Deletes a batch of the usage by credential, project and model that is older than 400 days.
 * @see prisma/sql/usage/delete-old-counts.sql
 */
export const deleteOldCounts = one<{ limit: number }, DeleteOldCountsRow>(
  'usage/delete-old-counts',
  `WITH deleted AS (
  DELETE FROM usage_counts WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM usage_counts WHERE day < now() - interval '400 days' LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldCountsRow {
  n: number
}

/**
 * Deletes a batch of the usage that is older than 400 days.
 * @see prisma/sql/usage/delete-old-days.sql
 */
export const deleteOldDays = one<{ limit: number }, DeleteOldDaysRow>(
  'usage/delete-old-days',
  `WITH deleted AS (
  DELETE FROM usage_days WHERE (user_id, day) IN (
    SELECT user_id, day FROM usage_days WHERE day < now() - interval '400 days' LIMIT $1)
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldDaysRow {
  n: number
}

/**
 * Deletes a batch of the requests of earlier days.
 * @see prisma/sql/usage/delete-old-requests.sql
 */
export const deleteOldRequests = one<{ days: number; limit: number }, DeleteOldRequestsRow>(
  'usage/delete-old-requests',
  `WITH deleted AS (
  DELETE FROM api_requests WHERE id = ANY(ARRAY(
    SELECT id FROM api_requests WHERE id < id_at('arq', now() - $1::int * interval '1 day')
    ORDER BY id LIMIT $2))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['days', 'limit'],
)
export interface DeleteOldRequestsRow {
  n: number
}

/**
 * Deletes a batch of the requests beyond the newest `:kept` of each user who sent one in the last
 * hour.
 * @see prisma/sql/usage/delete-surplus-requests.sql
 */
export const deleteSurplusRequests = one<{ kept: number; limit: number }, DeleteSurplusRequestsRow>(
  'usage/delete-surplus-requests',
  `WITH deleted AS (
  DELETE FROM api_requests WHERE id = ANY(ARRAY(
    SELECT r.id
    FROM (SELECT DISTINCT user_id FROM api_requests WHERE id > id_at('arq', now() - interval '1 hour')) a
    CROSS JOIN LATERAL (
      SELECT id FROM api_requests WHERE user_id = a.user_id ORDER BY id DESC OFFSET $1 LIMIT $2
    ) r
    LIMIT $2))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['kept', 'limit'],
)
export interface DeleteSurplusRequestsRow {
  n: number
}

/**
 * Inserts requests. Returns those that were not inserted before.
 * @see prisma/sql/usage/insert-requests.sql
 */
export const insertRequests = many<{ ids: readonly string[]; users: readonly string[]; keys: readonly string[]; operations: readonly string[]; methods: readonly string[]; statuses: readonly number[]; error_codes: readonly (string | null)[]; durations: readonly number[]; requests: readonly number[]; request_ids: readonly string[]; client_request_ids: readonly (string | null)[]; times: readonly (Date | string)[] }, InsertRequestsRow>(
  'usage/insert-requests',
  `INSERT INTO api_requests (id, user_id, key_id, operation, method, status, error_code, duration_ms, requests,
  request_id, client_request_id, created_at)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
  $6::int[], $7::text[], $8::int[], $9::int[], $10::text[],
  $11::text[], $12::timestamptz[])
ON CONFLICT (user_id, id) DO NOTHING
RETURNING id`,
  ['ids', 'users', 'keys', 'operations', 'methods', 'statuses', 'error_codes', 'durations', 'requests', 'request_ids', 'client_request_ids', 'times'],
)
export interface InsertRequestsRow {
  id: string
}

/**
 * The API requests of a user.
 * @see prisma/sql/usage/list-requests.sql
 */
export const listRequests = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; operation: string; status: number; status_class: string; error_code: string; credential_id: string; sent_by: string }, 'created_at', ListRequestsRow>(
  'usage/list-requests',
  {
    select: `SELECT r.id, r.created_at, r.operation, r.method, r.status, r.duration_ms, r.requests, r.request_id,
  r.client_request_id, r.error_code, r.key_id AS credential_id, r.key_id
FROM api_requests r
WHERE r.user_id = $1`,
    names: ['user_id', 'created_after', 'created_before', 'operation', 'status', 'status_class', 'error_code', 'credential_id', 'sent_by'],
    filters: {
      created_after: { sql: `r.created_at >= $2`, searches: true },
      created_before: { sql: `r.created_at < $3`, searches: true },
      operation: { sql: `r.operation = $4` },
      status: { sql: `r.status = $5` },
      status_class: { sql: `(r.status / 100) || 'xx' = $6` },
      error_code: { sql: `r.error_code = $7` },
      credential_id: { sql: `r.key_id = $8` },
      sent_by: { sql: `r.key_id = $9` },
    },
    sorts: {
      created_at: `r.id`,
    },
    id: `r.id`,
    totals: {
    },
  },
)
export interface ListRequestsRow {
  id: string
  created_at: string
  operation: string
  method: string
  status: number
  duration_ms: number
  requests: number
  request_id: string
  client_request_id: string | null
  error_code: string | null
  credential_id: string
  key_id: string
}

/**
 * What was used on some days, in groups: by a user, or by all in a project or in those of an organization.
 * @see prisma/sql/usage/list-usage.sql
 */
export const listUsage = page<{ project_id: string | null; organization_id: string | null; user_id: string; group_by: readonly string[]; from: string; to: string; meters: readonly string[]; key_projects: readonly string[] | null }, {}, 'day', ListUsageRow>(
  'usage/list-usage',
  {
    select: `SELECT g.id, g.day, g.project_id, g.model, g.credential_id, g.meter, g.quantity
FROM (
  SELECT
    concat_ws('/', coalesce($1, $2, $3), coalesce(k.day::text, '-'),
      coalesce(k.project_id, '-'), coalesce(k.credential_id, '-'), k.meter, coalesce(k.model, '-')) AS "id",
    coalesce(k.day::text, '') AS day_or_none, k.*
  FROM (
    SELECT CASE WHEN 'day' = ANY($4::text[]) THEN c.day END AS day,
      CASE WHEN 'project_id' = ANY($4::text[]) THEN nullif(c.project_id, '') END AS project_id,
      CASE WHEN 'model' = ANY($4::text[]) THEN nullif(c.model, '') END AS model,
      CASE WHEN 'credential_id' = ANY($4::text[]) THEN nullif(c.credential_id, '') END
        AS credential_id,
      m.meter, sum(m.quantity)::bigint AS "quantity"
    FROM (
      SELECT * FROM usage_counts
      WHERE user_id = $3 AND $1::text IS NULL AND $2::text IS NULL
        AND day BETWEEN $5::text::date AND $6::text::date
      UNION ALL
      SELECT * FROM usage_counts
      WHERE project_id = $1 AND day BETWEEN $5::text::date AND $6::text::date
        AND ($2 IS NULL OR project_id IN (SELECT id FROM projects WHERE organization_id = $2))
      UNION ALL
      SELECT * FROM usage_counts
      WHERE project_id IN (SELECT id FROM projects WHERE organization_id = $2) AND $1 IS NULL
        AND day BETWEEN $5::text::date AND $6::text::date
    ) c
    CROSS JOIN LATERAL (VALUES ('requests', c.requests), ('errors', c.errors),
      ('downloaded_bytes', c.downloaded_bytes), ('answers', c.answers), ('prompt_tokens', c.prompt_tokens),
      ('completion_tokens', c.completion_tokens), ('cost_micros', c.cost_micros)) AS m(meter, quantity)
    WHERE m.meter = ANY($7::text[])
      AND ($8::text[] IS NULL OR c.project_id = ANY($8))
    GROUP BY 1, 2, 3, 4, 5
    HAVING sum(m.quantity) <> 0
  ) k
) g
WHERE true`,
    names: ['project_id', 'organization_id', 'user_id', 'group_by', 'from', 'to', 'meters', 'key_projects'],
    filters: {
    },
    sorts: {
      day: `g.day_or_none`,
    },
    id: `g.id`,
    totals: {
    },
  },
)
export interface ListUsageRow {
  id: string
  day: string | null
  project_id: string | null
  model: string | null
  credential_id: string | null
  meter: Schemas['UsageMeter']
  quantity: number
}

/**
 * The users that are not deleted, with the bytes of their files outside projects. Locks them against
 * deletion.
 * @see prisma/sql/usage/lock-requesting-users.sql
 */
export const lockRequestingUsers = many<{ ids: readonly string[] }, LockRequestingUsersRow>(
  'usage/lock-requesting-users',
  `SELECT id, coalesce(
  (SELECT bytes + version_bytes FROM storage_usage WHERE workspace_id = users.id), 0) AS "storage_bytes"
FROM users WHERE id = ANY($1) AND status <> 'deleted' ORDER BY id FOR KEY SHARE`,
  ['ids'],
)
export interface LockRequestingUsersRow {
  id: string
  storage_bytes: number
}

/**
 * The recorded requests of a user in each of the last hours, including the current one.
 * @see prisma/sql/usage/read-hours.sql
 */
export const readHours = many<{ hours: number; user_id: string }, ReadHoursRow>(
  'usage/read-hours',
  `WITH hours AS (
  SELECT generate_series(date_trunc('hour', now(), 'UTC') - ($1::int - 1) * interval '1 hour',
    date_trunc('hour', now(), 'UTC'), interval '1 hour') AS hour
), counts AS (
  SELECT date_trunc('hour', r.created_at, 'UTC') AS hour, sum(r.requests) AS requests,
    sum(r.requests) FILTER (WHERE r.status BETWEEN 400 AND 499) AS client_errors,
    sum(r.requests) FILTER (WHERE r.status >= 500) AS server_errors
  FROM api_requests r
  WHERE r.user_id = $2 AND r.id > id_at('arq', now() - $1::int * interval '1 hour')
  GROUP BY 1
)
SELECT h.hour AS "hour", coalesce(c.requests, 0)::bigint AS "requests",
  coalesce(c.client_errors, 0)::bigint AS "client_errors",
  coalesce(c.server_errors, 0)::bigint AS "server_errors"
FROM hours h LEFT JOIN counts c USING (hour)
ORDER BY 1`,
  ['hours', 'user_id'],
  { reads: true },
)
export interface ReadHoursRow {
  hour: string
  requests: number
  client_errors: number
  server_errors: number
}

/**
 * The usage of a user on each of the last days, including today.
 * @see prisma/sql/usage/read-usage.sql
 */
export const readUsage = many<{ user_id: string; days: number }, ReadUsageRow>(
  'usage/read-usage',
  `SELECT d.day::date::text AS "day", coalesce(u.requests, 0) AS requests, coalesce(u.errors, 0) AS errors,
  coalesce(u.downloaded_bytes, 0) AS downloaded_bytes,
  CASE WHEN d.day = (now() AT TIME ZONE 'UTC')::date
    THEN coalesce((SELECT bytes + version_bytes FROM storage_usage WHERE workspace_id = $1), 0)
    ELSE coalesce((
      SELECT storage_bytes FROM usage_days WHERE user_id = $1 AND day <= d.day ORDER BY day DESC LIMIT 1
    ), 0)
  END AS "storage_bytes",
  coalesce(t.prompt_tokens, 0)::bigint AS prompt_tokens,
  coalesce(t.completion_tokens, 0)::bigint AS completion_tokens
FROM generate_series((now() AT TIME ZONE 'UTC')::date - ($2::int - 1), (now() AT TIME ZONE 'UTC')::date, interval '1 day') AS d(day)
LEFT JOIN usage_days u ON u.user_id = $1 AND u.day = d.day
LEFT JOIN (
  SELECT day, sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens
  FROM ai_usage WHERE user_id = $1 AND day > (now() AT TIME ZONE 'UTC')::date - $2::int GROUP BY day
) t ON t.day = d.day
ORDER BY d.day`,
  ['user_id', 'days'],
  { reads: true },
)
export interface ReadUsageRow {
  day: string
  requests: number
  errors: number
  downloaded_bytes: number
  storage_bytes: number
  prompt_tokens: number
  completion_tokens: number
}
