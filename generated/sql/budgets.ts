// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * How many budgets a subject has.
 * @see prisma/sql/budgets/count-of-subject.sql
 */
export const countOfSubject = one<{ subject_id: string }, CountOfSubjectRow>(
  'budgets/count-of-subject',
  `SELECT count(*)::int AS "count" FROM budgets WHERE subject_id = $1`,
  ['subject_id'],
  { reads: true },
)
export interface CountOfSubjectRow {
  count: number
}

/**
 * The start of the current day, week (Monday) or month (UTC); without periods: now.
 * @see prisma/sql/budgets/default-start.sql
 */
export const defaultStart = one<{ period: string }, DefaultStartRow>(
  'budgets/default-start',
  `SELECT CASE $1::text WHEN 'none' THEN now() ELSE date_trunc($1, now(), 'UTC') END AS "starts_at"`,
  ['period'],
  { reads: true },
)
export interface DefaultStartRow {
  starts_at: string
}

/**
 * Deletes periods of budgets that began long ago and that a later one follows.
 * @see prisma/sql/budgets/delete-old-periods.sql
 */
export const deleteOldPeriods = one<{ limit: number }, DeleteOldPeriodsRow>(
  'budgets/delete-old-periods',
  `WITH deleted AS (
  DELETE FROM budget_periods WHERE (budget_id, since) IN (
    SELECT p.budget_id, p.since FROM budget_periods p
    WHERE p.since < now() - interval '400 days'
      AND EXISTS (SELECT FROM budget_periods n WHERE n.budget_id = p.budget_id AND n.since > p.since)
    LIMIT $1
  )
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldPeriodsRow {
  n: number
}

/**
 * Deletes budgets whose subject was deleted.
 * @see prisma/sql/budgets/delete-without-subject.sql
 */
export const deleteWithoutSubject = one<{ limit: number }, DeleteWithoutSubjectRow>(
  'budgets/delete-without-subject',
  `WITH deleted AS (
  DELETE FROM budgets WHERE id IN (
    SELECT b.id FROM budgets b
    WHERE NOT CASE b.subject_type
      WHEN 'user' THEN EXISTS (SELECT FROM users u WHERE u.id = b.subject_id AND u.status <> 'deleted')
      WHEN 'customer' THEN EXISTS (SELECT FROM customers c WHERE c.id = b.subject_id AND c.deleted_at IS NULL)
      WHEN 'key' THEN EXISTS (SELECT FROM api_keys k WHERE k.id = b.subject_id)
      WHEN 'project' THEN EXISTS (SELECT FROM projects p WHERE p.id = b.subject_id)
      ELSE EXISTS (SELECT FROM organizations o WHERE o.id = b.subject_id)
    END
    LIMIT $1
  )
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteWithoutSubjectRow {
  n: number
}

/**
 * Whether a user or a customer of the operator exists, for whom a budget can be.
 * @see prisma/sql/budgets/find-subject.sql
 */
export const findSubject = optional<{ id: string }, FindSubjectRow>(
  'budgets/find-subject',
  `SELECT u.id FROM users u WHERE u.id = $1 AND u.status <> 'deleted'
UNION ALL
SELECT c.id FROM customers c WHERE c.id = $1 AND c.deleted_at IS NULL AND c.organization_id IS NULL
  AND (c.user_id IS NOT NULL OR c.buyer_organization_id IS NOT NULL)`,
  ['id'],
  { reads: true },
)
export interface FindSubjectRow {
  id: string
}

/**
 * Periods of budgets whose use may have passed a threshold, with the thresholds that it passed.
 * @see prisma/sql/budgets/list-due.sql
 */
export const listDue = many<{ limit: number }, ListDueRow>(
  'budgets/list-due',
  `SELECT p.budget_id, p.since, ARRAY(
    SELECT t.percent FROM unnest(b.thresholds) AS t (percent)
    WHERE p.used * 100 >= t.percent * b.amount::numeric * CASE b.unit WHEN 'money' THEN 1000000 ELSE 1 END
      AND t.percent <> ALL (p.notified)
    ORDER BY t.percent
  ) AS "passed"
FROM budget_periods p JOIN budgets b ON b.id = p.budget_id
WHERE p.due
ORDER BY p.budget_id, p.since
LIMIT $1
FOR UPDATE OF p SKIP LOCKED`,
  ['limit'],
)
export interface ListDueRow {
  budget_id: string
  since: string
  passed: number[]
}

/**
 * The budgets of a subject, or those that a user created.
 * @see prisma/sql/budgets/list.sql
 */
export const list = page<{}, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; subject_id: string; subject_type: string; created_by: string }, 'created_at' | 'updated_at', ListRow>(
  'budgets/list',
  {
    select: `SELECT t.id, t.subject_type, t.subject_id, t.unit, t.amount, t.period, t.starts_at,
t.thresholds AS "thresholds", t.enforced,
(SELECT trim_scale(coalesce(max(p.used), 0) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  FROM budget_periods p
  WHERE p.budget_id = t.id AND p.since = (budget_period(t.period, t.starts_at, now())).since) AS "used",
trim_scale(budget_reserved(t.id, t.unit, 30) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  AS "reserved",
(budget_period(t.period, t.starts_at, now())).until AS "resets_at",
t.metadata, t.created_by, t.created_at, t.updated_at
FROM budgets t
WHERE true`,
    names: ['created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'subject_id', 'subject_type', 'created_by'],
    filters: {
      created_after: { sql: `t.id >= id_at('bdg', $1)`, searches: true },
      created_before: { sql: `t.id < id_at('bdg', $2)`, searches: true },
      updated_after: { sql: `t.updated_at >= $3`, searches: true },
      updated_before: { sql: `t.updated_at < $4`, searches: true },
      metadata: { sql: `t.metadata <> '{}' AND t.metadata @> $5::jsonb`, searches: true },
      subject_id: { sql: `t.subject_id = $6` },
      subject_type: { sql: `t.subject_type = $7` },
      created_by: { sql: `t.created_by = $8` },
    },
    sorts: {
      created_at: `t.id`,
      updated_at: `t.updated_at`,
    },
    id: `t.id`,
    totals: {
    },
  },
)
export interface ListRow {
  id: string
  subject_type: Schemas['Budget']['subject_type']
  subject_id: string
  unit: Schemas['Budget']['unit']
  amount: string
  period: Schemas['Budget']['period']
  starts_at: string
  thresholds: Schemas['Budget']['thresholds']
  enforced: boolean
  used: string
  reserved: string
  resets_at: string | null
  metadata: Schemas['Budget']['metadata']
  created_by: Schemas['Budget']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Locks the number of budgets of a subject until the transaction ends.
 * @see prisma/sql/budgets/lock-subject.sql
 */
export const lockSubject = one<{ subject_id: string }, LockSubjectRow>(
  'budgets/lock-subject',
  `SELECT pg_advisory_xact_lock(hashtextextended('budgets of ' || $1, 0))::text AS locked`,
  ['subject_id'],
)
export interface LockSubjectRow {
  locked: string | null
}

/**
 * Looks at the thresholds of a budget again, whose amount or thresholds changed.
 * @see prisma/sql/budgets/set-due.sql
 */
export const setDue = none<{ id: string }>(
  'budgets/set-due',
  `UPDATE budget_periods SET due = true WHERE budget_id = $1
  AND since = (SELECT (budget_period(b.period, b.starts_at, now())).since FROM budgets b WHERE b.id = $1)`,
  ['id'],
)

/**
 * Notes the thresholds of a period that were notified.
 * @see prisma/sql/budgets/set-notified.sql
 */
export const setNotified = none<{ passed: readonly number[]; budget_id: string; since: Date | string }>(
  'budgets/set-notified',
  `UPDATE budget_periods SET due = false, notified = notified || $1::int[]
WHERE budget_id = $2 AND since = $3`,
  ['passed', 'budget_id', 'since'],
)

/**
 * A budget.
 * @see generated/resources/budgets/find.sql
 */
export const find = optional<{ id: string }, FindRow>(
  'budgets/find',
  `SELECT t.id, t.subject_type, t.subject_id, t.unit, t.amount, t.period, t.starts_at,
t.thresholds AS "thresholds", t.enforced,
(SELECT trim_scale(coalesce(max(p.used), 0) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  FROM budget_periods p
  WHERE p.budget_id = t.id AND p.since = (budget_period(t.period, t.starts_at, now())).since) AS "used",
trim_scale(budget_reserved(t.id, t.unit, 30) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  AS "reserved",
(budget_period(t.period, t.starts_at, now())).until AS "resets_at",
t.metadata, t.created_by, t.created_at, t.updated_at
FROM budgets t
WHERE t.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindRow {
  id: string
  subject_type: Schemas['Budget']['subject_type']
  subject_id: string
  unit: Schemas['Budget']['unit']
  amount: string
  period: Schemas['Budget']['period']
  starts_at: string
  thresholds: Schemas['Budget']['thresholds']
  enforced: boolean
  used: string
  reserved: string
  resets_at: string | null
  metadata: Schemas['Budget']['metadata']
  created_by: Schemas['Budget']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Inserts a budget.
 * @see generated/resources/budgets/insert.sql
 */
export const insert = one<{ id: string; subject_type: string; subject_id: string; unit: string; amount: string; period: string; starts_at: Date | string | null; thresholds: readonly number[]; enforced: boolean; metadata: object | string; created_by: string | null; created_at: Date | string }, InsertRow>(
  'budgets/insert',
  `INSERT INTO budgets AS t (id, subject_type, subject_id, unit, amount, period, starts_at, thresholds, enforced, metadata, created_by, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12)
RETURNING t.id, t.subject_type, t.subject_id, t.unit, t.amount, t.period, t.starts_at,
t.thresholds AS "thresholds", t.enforced,
(SELECT trim_scale(coalesce(max(p.used), 0) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  FROM budget_periods p
  WHERE p.budget_id = t.id AND p.since = (budget_period(t.period, t.starts_at, now())).since) AS "used",
trim_scale(budget_reserved(t.id, t.unit, 30) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  AS "reserved",
(budget_period(t.period, t.starts_at, now())).until AS "resets_at",
t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['id', 'subject_type', 'subject_id', 'unit', 'amount', 'period', 'starts_at', 'thresholds', 'enforced', 'metadata', 'created_by', 'created_at'],
  { json: ['metadata'] },
)
export interface InsertRow {
  id: string
  subject_type: Schemas['Budget']['subject_type']
  subject_id: string
  unit: Schemas['Budget']['unit']
  amount: string
  period: Schemas['Budget']['period']
  starts_at: string
  thresholds: Schemas['Budget']['thresholds']
  enforced: boolean
  used: string
  reserved: string
  resets_at: string | null
  metadata: Schemas['Budget']['metadata']
  created_by: Schemas['Budget']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * A budget, locked against other writers.
 * @see generated/resources/budgets/lock.sql
 */
export const lock = optional<{ id: string }, LockRow>(
  'budgets/lock',
  `SELECT t.id, t.subject_type, t.subject_id, t.unit, t.amount, t.period, t.starts_at,
t.thresholds AS "thresholds", t.enforced,
(SELECT trim_scale(coalesce(max(p.used), 0) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  FROM budget_periods p
  WHERE p.budget_id = t.id AND p.since = (budget_period(t.period, t.starts_at, now())).since) AS "used",
trim_scale(budget_reserved(t.id, t.unit, 30) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  AS "reserved",
(budget_period(t.period, t.starts_at, now())).until AS "resets_at",
t.metadata, t.created_by, t.created_at, t.updated_at
FROM budgets t
WHERE t.id = $1
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockRow {
  id: string
  subject_type: Schemas['Budget']['subject_type']
  subject_id: string
  unit: Schemas['Budget']['unit']
  amount: string
  period: Schemas['Budget']['period']
  starts_at: string
  thresholds: Schemas['Budget']['thresholds']
  enforced: boolean
  used: string
  reserved: string
  resets_at: string | null
  metadata: Schemas['Budget']['metadata']
  created_by: Schemas['Budget']['created_by'] | null
  created_at: string
  updated_at: string
}

/**
 * Deletes a budget.
 * @see generated/resources/budgets/remove.sql
 */
export const remove = none<{ id: string }>(
  'budgets/remove',
  `DELETE FROM budgets WHERE id = $1`,
  ['id'],
)

/**
 * Updates a locked budget.
 * @see generated/resources/budgets/update.sql
 */
export const update = one<{ subject_type: string; amount: string; thresholds: readonly number[]; enforced: boolean; metadata: object | string; updated_at: Date | string; id: string }, UpdateRow>(
  'budgets/update',
  `UPDATE budgets t SET subject_type = $1, amount = $2, thresholds = $3, enforced = $4, metadata = $5, updated_at = $6
WHERE t.id = $7
RETURNING t.id, t.subject_type, t.subject_id, t.unit, t.amount, t.period, t.starts_at,
t.thresholds AS "thresholds", t.enforced,
(SELECT trim_scale(coalesce(max(p.used), 0) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  FROM budget_periods p
  WHERE p.budget_id = t.id AND p.since = (budget_period(t.period, t.starts_at, now())).since) AS "used",
trim_scale(budget_reserved(t.id, t.unit, 30) / CASE t.unit WHEN 'money' THEN 1000000 ELSE 1 END)
  AS "reserved",
(budget_period(t.period, t.starts_at, now())).until AS "resets_at",
t.metadata, t.created_by, t.created_at, t.updated_at`,
  ['subject_type', 'amount', 'thresholds', 'enforced', 'metadata', 'updated_at', 'id'],
  { json: ['metadata'] },
)
export interface UpdateRow {
  id: string
  subject_type: Schemas['Budget']['subject_type']
  subject_id: string
  unit: Schemas['Budget']['unit']
  amount: string
  period: Schemas['Budget']['period']
  starts_at: string
  thresholds: Schemas['Budget']['thresholds']
  enforced: boolean
  used: string
  reserved: string
  resets_at: string | null
  metadata: Schemas['Budget']['metadata']
  created_by: Schemas['Budget']['created_by'] | null
  created_at: string
  updated_at: string
}
