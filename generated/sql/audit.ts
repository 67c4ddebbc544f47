// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Deletes a batch of the oldest entries, and notes where the audit log begins then. An entry that is stored
 * late can be older than those before it, so the batch ends before the first that is kept.
 * @see prisma/sql/audit/delete-old-entries.sql
 */
export const deleteOldEntries = one<{ days: number; limit: number }, DeleteOldEntriesRow>(
  'audit/delete-old-entries',
  `WITH chain AS (
  SELECT id FROM audit_chain WHERE id = 1 FOR UPDATE
), oldest AS (
  SELECT sequence, created_at < now() - $1::int * interval '1 day' AS is_due FROM audit_entries
  WHERE sequence <= (SELECT first_sequence FROM audit_chain WHERE id = (SELECT id FROM chain)) + $2
  ORDER BY sequence LIMIT $2
), deleted AS (
  DELETE FROM audit_entries WHERE sequence = ANY(ARRAY(
    SELECT sequence FROM (SELECT sequence, bool_and(is_due) OVER (ORDER BY sequence) AS are_due FROM oldest) o
    WHERE are_due))
  RETURNING sequence, signature
), moved AS (
  UPDATE audit_chain c SET first_sequence = d.sequence, first_signature = d.signature
  FROM (SELECT sequence, signature FROM deleted ORDER BY sequence DESC LIMIT 1) d
  WHERE c.id = 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['days', 'limit'],
)
export interface DeleteOldEntriesRow {
  n: number
}

/**
 * The ids of these entries that the audit log already has.
 * @see prisma/sql/audit/find-known.sql
 */
export const findKnown = many<{ ids: readonly string[] }, FindKnownRow>(
  'audit/find-known',
  `SELECT a.id FROM audit_entries a WHERE a.id = ANY($1::text[])`,
  ['ids'],
  { reads: true },
)
export interface FindKnownRow {
  id: string
}

/**
 * Whether a webhook endpoint of an operator receives the entries of the audit log.
 * @see prisma/sql/audit/has-receivers.sql
 */
export const hasReceivers = one<{ type: string }, HasReceiversRow>(
  'audit/has-receivers',
  `SELECT EXISTS (
  SELECT 1 FROM users u JOIN webhook_endpoints w ON w.user_id = u.id
  WHERE u.role = 'admin' AND u.status = 'active' AND w.all_projects AND 'admin' = ANY(w.scopes)
    AND w.enabled AND w.deleted_at IS NULL AND w.event_types && ARRAY[$1, split_part($1, '.', 1) || '.*',
  CASE WHEN $1 <> 'audit.recorded' THEN '*' END]
) AS "found"`,
  ['type'],
  { reads: true },
)
export interface HasReceiversRow {
  found: boolean
}

/**
 * Adds entries to the audit log, and returns them in their order.
 * @see prisma/sql/audit/insert-entries.sql
 */
export const insertEntries = many<{ sequences: readonly number[]; ids: readonly string[]; users: readonly (string | null)[]; credentials: readonly (string | null)[]; operations: readonly string[]; methods: readonly string[]; statuses: readonly number[]; ips: readonly string[]; organizations: readonly (string | null)[]; projects: readonly (string | null)[]; resources: readonly (string | null)[]; requests: readonly string[]; signatures: readonly string[]; times: readonly (Date | string)[] }, InsertEntriesRow>(
  'audit/insert-entries',
  `WITH a AS (
  INSERT INTO audit_entries (sequence, id, user_id, credential_id, operation, method, status, ip,
    organization_id, project_id, resource_id, request_id, signature, created_at)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[],
    $5::text[], $6::text[], $7::int[], $8::text[], $9::text[],
    $10::text[], $11::text[], $12::text[], $13::text[],
    $14::timestamptz[])
  RETURNING *
)
SELECT a.id, a.sequence, a.user_id, a.credential_id, a.operation, a.method, a.status, CASE WHEN a.status IN (401, 403) THEN 'refused' WHEN a.status >= 400 THEN 'failed' ELSE 'done' END AS "outcome",
a.ip, a.organization_id, a.project_id, a.resource_id, a.request_id, a.created_at FROM a ORDER BY a.sequence`,
  ['sequences', 'ids', 'users', 'credentials', 'operations', 'methods', 'statuses', 'ips', 'organizations', 'projects', 'resources', 'requests', 'signatures', 'times'],
)
export interface InsertEntriesRow {
  id: string
  sequence: number
  user_id: string | null
  credential_id: string | null
  operation: string
  method: string
  status: number
  outcome: Schemas['AuditEntry']['outcome']
  ip: string
  organization_id: string | null
  project_id: string | null
  resource_id: string | null
  request_id: string
  created_at: string
}

/**
 * The audit log.
 * @see prisma/sql/audit/list-entries.sql
 */
export const listEntries = page<{}, { created_after: Date | string; created_before: Date | string; own: string; organization_id: string; project_id: string; resource_id: string; ip: string; user_id: string; credential_id: string; operation: string; outcome: string }, 'created_at', ListEntriesRow>(
  'audit/list-entries',
  {
    select: `SELECT a.id, a.sequence, a.user_id, a.credential_id, a.operation, a.method, a.status, CASE WHEN a.status IN (401, 403) THEN 'refused' WHEN a.status >= 400 THEN 'failed' ELSE 'done' END AS "outcome",
a.ip, a.organization_id, a.project_id, a.resource_id, a.request_id, a.created_at
FROM audit_entries a
WHERE true`,
    names: ['created_after', 'created_before', 'own', 'organization_id', 'project_id', 'resource_id', 'ip', 'user_id', 'credential_id', 'operation', 'outcome'],
    filters: {
      created_after: { sql: `a.created_at >= $1`, searches: true },
      created_before: { sql: `a.created_at < $2`, searches: true },
      own: { sql: `a.user_id = $3` },
      organization_id: { sql: `a.organization_id = $4` },
      project_id: { sql: `a.project_id = $5` },
      resource_id: { sql: `a.resource_id = $6` },
      ip: { sql: `a.ip = $7` },
      user_id: { sql: `a.user_id = $8` },
      credential_id: { sql: `a.credential_id = $9` },
      operation: { sql: `a.operation = $10` },
      outcome: { sql: `CASE WHEN a.status IN (401, 403) THEN 'refused' WHEN a.status >= 400 THEN 'failed' ELSE 'done' END = $11` },
    },
    sorts: {
      created_at: `a.id`,
    },
    id: `a.id`,
    totals: {
    },
  },
)
export interface ListEntriesRow {
  id: string
  sequence: number
  user_id: string | null
  credential_id: string | null
  operation: string
  method: string
  status: number
  outcome: Schemas['AuditEntry']['outcome']
  ip: string
  organization_id: string | null
  project_id: string | null
  resource_id: string | null
  request_id: string
  created_at: string
}

/**
 * The organizations that entries belong to, by the number of the entry: the organization in the path, that of
 * the project or of the service account in the path, or that of the service account that sent the request. A
 * refused request belongs to the organization only if its user is a member: strangers cannot write into the
 * log.
 * @see prisma/sql/audit/list-organizations.sql
 */
export const listOrganizations = many<{ users: readonly (string | null)[]; organizations: readonly (string | null)[]; projects: readonly (string | null)[]; accounts: readonly (string | null)[]; done: readonly boolean[] }, ListOrganizationsRow>(
  'audit/list-organizations',
  `SELECT e.n::int AS "n", o.id AS organization_id
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[],
    $5::boolean[]) WITH ORDINALITY AS e (user_id, organization_id, project_id, account_id, done, n)
  LEFT JOIN service_accounts s ON s.id = e.account_id
  LEFT JOIN service_accounts sender ON sender.user_id = e.user_id
  LEFT JOIN projects p ON p.id = coalesce(e.project_id, s.project_id, sender.project_id)
  JOIN organizations o
    ON o.id = coalesce(e.organization_id, s.organization_id, p.organization_id, sender.organization_id)
WHERE e.done
  OR EXISTS (
    SELECT FROM organization_members m
    WHERE m.organization_id = o.id AND m.user_id = e.user_id AND m.status = 'active')
  OR EXISTS (SELECT FROM members m WHERE m.project_id = p.id AND m.user_id = e.user_id)`,
  ['users', 'organizations', 'projects', 'accounts', 'done'],
  { reads: true },
)
export interface ListOrganizationsRow {
  n: number
  organization_id: string
}

/**
 * The end of the audit log, locked until the transaction ends: one process at a time adds entries.
 * @see prisma/sql/audit/lock-chain.sql
 */
export const lockChain = one<{}, LockChainRow>(
  'audit/lock-chain',
  `SELECT c.sequence, c.signature FROM audit_chain c WHERE c.id = 1 FOR UPDATE`,
)
export interface LockChainRow {
  sequence: number
  signature: string
}

/**
 * Notes the last entry of the audit log.
 * @see prisma/sql/audit/move-chain.sql
 */
export const moveChain = none<{ sequence: number; signature: string }>(
  'audit/move-chain',
  `UPDATE audit_chain SET sequence = $1, signature = $2 WHERE id = 1`,
  ['sequence', 'signature'],
)

/**
 * Where the audit log begins and ends.
 * @see prisma/sql/audit/read-chain.sql
 */
export const readChain = one<{}, ReadChainRow>(
  'audit/read-chain',
  `SELECT c.sequence, c.signature, c.first_sequence, c.first_signature FROM audit_chain c WHERE c.id = 1`,
  [],
  { reads: true },
)
export interface ReadChainRow {
  sequence: number
  signature: string
  first_sequence: number
  first_signature: string
}

/**
 * A batch of the audit log with its signatures, oldest first.
 * @see prisma/sql/audit/read-entries.sql
 */
export const readEntries = many<{ after: number; count: number }, ReadEntriesRow>(
  'audit/read-entries',
  `SELECT a.sequence, a.id, a.user_id, a.credential_id, a.operation, a.method, a.status, a.ip,
  a.organization_id, a.project_id, a.resource_id, a.request_id, a.signature, a.created_at
FROM audit_entries a
WHERE a.sequence > $1
ORDER BY a.sequence
LIMIT $2`,
  ['after', 'count'],
  { reads: true },
)
export interface ReadEntriesRow {
  sequence: number
  id: string
  user_id: string | null
  credential_id: string | null
  operation: string
  method: string
  status: number
  ip: string
  organization_id: string | null
  project_id: string | null
  resource_id: string | null
  request_id: string
  signature: string
  created_at: string
}
