// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one } from '../../infra/database/queries.ts'

/**
 * Deletes jobs, except those that were fetched again.
 * @see prisma/sql/jobs/delete-jobs.sql
 */
export const deleteJobs = many<{ ids: readonly string[]; fetches: readonly number[] }, DeleteJobsRow>(
  'jobs/delete-jobs',
  `DELETE FROM jobs j USING unnest($1::uuid[], $2::int[]) AS own (id, fetches)
WHERE j.id = ANY(ARRAY(SELECT unnest($1::uuid[]))) AND j.id = own.id AND j.fetches = own.fetches
RETURNING j.id`,
  ['ids', 'fetches'],
)
export interface DeleteJobsRow {
  id: string
}

/**
 * Extends the time-out of jobs until `most_seconds` after their fetch, except those that were fetched again.
 * @see prisma/sql/jobs/extend-jobs.sql
 */
export const extendJobs = many<{ seconds: number; most_seconds: number; ids: readonly string[]; fetches: readonly number[] }, ExtendJobsRow>(
  'jobs/extend-jobs',
  `UPDATE jobs j SET due_at = least(
  now() + make_interval(secs => $1), j.fetched_at + make_interval(secs => $2))
FROM unnest($3::uuid[], $4::int[]) AS own (id, fetches)
WHERE j.id = ANY(ARRAY(SELECT unnest($3::uuid[]))) AND j.id = own.id AND j.fetches = own.fetches
  AND j.fetched_at > now() - make_interval(secs => $2)
RETURNING j.id`,
  ['seconds', 'most_seconds', 'ids', 'fetches'],
)
export interface ExtendJobsRow {
  id: string
}

/**
 * Fetches due jobs of a queue, of each turn at most `most`, and of each of its groups at most `each`, in the
 * order of the turns. Lanes and limits of groups do not apply. Jobs that another process is fetching at the
 * moment are skipped.
 * @see prisma/sql/jobs/fetch-jobs-in-turns.sql
 */
export const fetchJobsInTurns = many<{ turns: object | string; queue: string; count: number; seconds: number }, FetchJobsInTurnsRow>(
  'jobs/fetch-jobs-in-turns',
  `WITH picked AS MATERIALIZED (
  SELECT job.id
  FROM jsonb_to_recordset($1::jsonb) AS turn (groups jsonb, most int, "each" int)
  CROSS JOIN LATERAL (
    SELECT due.id FROM jsonb_array_elements_text(turn.groups) AS one (group_id)
    CROSS JOIN LATERAL (
      SELECT id FROM jobs
      WHERE queue = $2 AND lane = 'main' AND due_at <= now() AND group_id = one.group_id
      ORDER BY due_at LIMIT turn."each" FOR UPDATE SKIP LOCKED
    ) due LIMIT turn.most
  ) job LIMIT $3
)
UPDATE jobs SET
  fetches = fetches + 1, fetched_at = now(), due_at = now() + make_interval(secs => $4)
WHERE id = ANY (ARRAY(SELECT id FROM picked))
RETURNING id, data, fetches`,
  ['turns', 'queue', 'count', 'seconds'],
)
export interface FetchJobsInTurnsRow {
  id: string
  data: unknown
  fetches: number
}

/**
 * Fetches due jobs of a lane, those that are due for longest, from all groups but some. A job that is not
 * completed before its time-out is due again. Only `group_limit` jobs of a group run at once: a fetched job
 * runs until its time-out. Jobs that another process is fetching at the moment are skipped.
 * `= ANY(ARRAY(…))` makes PostgreSQL find the rows by index: its statistics of a table that fills and empties
 * are often old, and it would read the whole table.
 * @see prisma/sql/jobs/fetch-jobs.sql
 */
export const fetchJobs = many<{ queue: string; lane: string; seconds: number; except: readonly string[]; group_limit: number; count: number }, FetchJobsRow>(
  'jobs/fetch-jobs',
  `WITH running AS MATERIALIZED (
  SELECT group_id, count(*) AS n FROM jobs
  WHERE queue = $1 AND lane = $2 AND fetches > 0
    AND due_at > now() AND due_at <= now() + make_interval(secs => $3)
  GROUP BY group_id
), due AS MATERIALIZED (
  SELECT id, group_id, due_at FROM jobs
  WHERE queue = $1 AND lane = $2 AND due_at <= now() AND group_id <> ALL ($4)
    AND group_id NOT IN (SELECT group_id FROM running WHERE n >= $5)
  ORDER BY due_at LIMIT $6 FOR UPDATE SKIP LOCKED
), picked AS (
  SELECT d.id
  FROM (SELECT id, group_id, row_number() OVER (PARTITION BY group_id ORDER BY due_at) AS place FROM due) d
    LEFT JOIN running r ON r.group_id = d.group_id
  WHERE d.place + coalesce(r.n, 0) <= $5
)
UPDATE jobs SET
  fetches = fetches + 1, fetched_at = now(), due_at = now() + make_interval(secs => $3)
WHERE id = ANY (ARRAY(SELECT id FROM picked))
RETURNING id, data, fetches`,
  ['queue', 'lane', 'seconds', 'except', 'group_limit', 'count'],
)
export interface FetchJobsRow {
  id: string
  data: unknown
  fetches: number
}

/**
 * Whether there are jobs.
 * @see prisma/sql/jobs/has-jobs.sql
 */
export const hasJobs = one<{}, HasJobsRow>(
  'jobs/has-jobs',
  `SELECT EXISTS (SELECT FROM jobs) AS "exist"`,
  [],
  { reads: true },
)
export interface HasJobsRow {
  exist: boolean
}

/**
 * Adds jobs to a queue. A job without a time is due now.
 * @see prisma/sql/jobs/insert-jobs.sql
 */
export const insertJobs = none<{ queue: string; lanes: readonly string[]; group_ids: readonly string[]; data: readonly (object | string)[]; due_ats: readonly (Date | string | null)[] }>(
  'jobs/insert-jobs',
  `INSERT INTO jobs (queue, lane, group_id, data, due_at)
SELECT $1, j.lane, j.group_id, j.data, coalesce(j.due_at, now())
FROM unnest($2::text[], $3::text[], $4::jsonb[], $5::timestamptz[])
  AS j (lane, group_id, data, due_at)`,
  ['queue', 'lanes', 'group_ids', 'data', 'due_ats'],
)

/**
 * The due jobs of each queue that no worker has fetched, counted to `most`.
 * @see prisma/sql/jobs/read-backlog.sql
 */
export const readBacklog = many<{ most: number; queues: readonly string[]; lanes: readonly string[] }, ReadBacklogRow>(
  'jobs/read-backlog',
  `SELECT q.queue AS "queue", least(sum(due.n), $1)::int AS "waiting",
  coalesce(extract(epoch FROM now() - min(due.oldest)), 0)::float8 AS "oldestSeconds"
FROM unnest($2::text[], $3::text[]) AS q (queue, lane)
CROSS JOIN LATERAL (
  SELECT count(*) AS n, min(due_at) AS oldest
  FROM (
    SELECT due_at FROM jobs WHERE queue = q.queue AND lane = q.lane AND due_at <= now()
    ORDER BY due_at LIMIT $1
  ) j
) due
GROUP BY q.queue`,
  ['most', 'queues', 'lanes'],
  { reads: true },
)
export interface ReadBacklogRow {
  queue: string
  waiting: number
  oldestSeconds: number
}
