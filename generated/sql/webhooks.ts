// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { EventType } from '../events.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * The id of the key that encrypts the secrets of this database. It becomes `key_id` if there is none, or one
 * of those that `key_id` replaces.
 * @see prisma/sql/webhooks/claim-secret-key.sql
 */
export const claimSecretKey = one<{ key_id: string; replaced: readonly string[] }, ClaimSecretKeyRow>(
  'webhooks/claim-secret-key',
  `INSERT INTO secret_keys (key_id) VALUES ($1)
ON CONFLICT (id) DO UPDATE SET
  key_id = CASE WHEN secret_keys.key_id = ANY($2) THEN excluded.key_id ELSE secret_keys.key_id END
RETURNING key_id`,
  ['key_id', 'replaced'],
)
export interface ClaimSecretKeyRow {
  key_id: string
}

/**
 * Deletes deliveries of deleted endpoints.
 * @see prisma/sql/webhooks/delete-deliveries-of-deleted-endpoints.sql
 */
export const deleteDeliveriesOfDeletedEndpoints = one<{ limit: number }, DeleteDeliveriesOfDeletedEndpointsRow>(
  'webhooks/delete-deliveries-of-deleted-endpoints',
  `WITH deleted AS (
  DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(
    SELECT d.id FROM webhook_endpoints w
    CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE endpoint_id = w.id LIMIT $1) d
    WHERE w.deleted_at IS NOT NULL LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteDeliveriesOfDeletedEndpointsRow {
  n: number
}

/**
 * Gives a locked endpoint the state of a deleted one.
 * @see prisma/sql/webhooks/delete-endpoint.sql
 */
export const deleteEndpoint = none<{ id: string }>(
  'webhooks/delete-endpoint',
  `UPDATE webhook_endpoints SET deleted_at = now(), enabled = false, disabled_reason = NULL, secret = '', previous_secret = NULL,
previous_expires_at = NULL WHERE id = $1`,
  ['id'],
)

/**
 * Deletes the rows of deleted endpoints without deliveries.
 * @see prisma/sql/webhooks/delete-endpoints.sql
 */
export const deleteEndpoints = none<{}>(
  'webhooks/delete-endpoints',
  `DELETE FROM webhook_endpoints w WHERE deleted_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM webhook_deliveries d WHERE d.endpoint_id = w.id)`,
)

/**
 * Disables the endpoints that are gone, and those that have failed for :max_failing_days, and returns them.
 * @see prisma/sql/webhooks/disable-endpoints.sql
 */
export const disableEndpoints = many<{ gone_ids: readonly string[]; failing_ids: readonly string[]; max_failing_days: number }, DisableEndpointsRow>(
  'webhooks/disable-endpoints',
  `UPDATE webhook_endpoints
SET enabled = false, disabled_reason = CASE WHEN id = ANY($1) THEN 'gone' ELSE 'failing' END
WHERE enabled AND (
  id = ANY($1)
  OR (id = ANY($2) AND failing_since < now() - make_interval(days => $3))
) RETURNING id, url, description, event_types AS "event_types", enabled, disabled_reason,
CASE WHEN all_projects THEN NULL ELSE project_ids END AS project_ids, metadata, user_id AS created_by,
created_at, updated_at, user_id`,
  ['gone_ids', 'failing_ids', 'max_failing_days'],
)
export interface DisableEndpointsRow {
  id: string
  url: string
  description: string | null
  event_types: Schemas['WebhookEndpoint']['event_types']
  enabled: boolean
  disabled_reason: Schemas['WebhookEndpoint']['disabled_reason'] | null
  project_ids: string[] | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  user_id: string
}

/**
 * A delivery, with the columns of its endpoint that decide who can see it.
 * @see prisma/sql/webhooks/find-delivery.sql
 */
export const findDelivery = optional<{ unlimited_key_types: readonly string[]; id: string }, FindDeliveryRow>(
  'webhooks/find-delivery',
  `SELECT d.id, d.endpoint_id, d.event_id, e.type AS event_type, d.status, d.attempts,
d.next_attempt_at, d.request, d.created_at, d.updated_at,
u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($1)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AS "readable",
json_build_object('id', e.id, 'type', e.type,
  'created_at', to_char(e.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'api_version', 'v1',
  'project_id', CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END, 'organization_id', CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END,
  'request_id', e.request_id, 'client_request_id', e.client_request_id,
  'actor', e.actor, 'data', e.data) AS event, w.user_id, w.deleted_at, w.scopes AS "scopes", w.project_ids,
  w.all_projects
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id
JOIN users u ON u.id = w.user_id
LEFT JOIN event_readers m ON m.project_id = e.project_id AND m.user_id = w.user_id
WHERE d.id = $2`,
  ['unlimited_key_types', 'id'],
  { reads: true },
)
export interface FindDeliveryRow {
  id: string
  endpoint_id: string
  event_id: string
  event_type: EventType
  status: 'pending' | 'succeeded' | 'failed'
  attempts: Schemas['WebhookAttempt'][]
  next_attempt_at: string | null
  request: { url: string; headers: Record<string, string> } | null
  created_at: string
  updated_at: string
  readable: boolean
  event: Schemas['PlatformEvent']
  user_id: string
  deleted_at: string | null
  scopes: string[]
  project_ids: string[]
  all_projects: boolean
}

/**
 * Endpoints after `after` with a secret that was not encrypted with the current key. `pattern` fits the
 * secrets that were.
 * @see prisma/sql/webhooks/find-secrets-of-other-keys.sql
 */
export const findSecretsOfOtherKeys = many<{ after: string; pattern: string; count: number }, FindSecretsOfOtherKeysRow>(
  'webhooks/find-secrets-of-other-keys',
  `SELECT id, secret, previous_secret FROM webhook_endpoints
WHERE id > $1 AND secret <> '' AND (secret NOT LIKE $2 OR previous_secret NOT LIKE $2)
ORDER BY id LIMIT $3`,
  ['after', 'pattern', 'count'],
  { reads: true },
)
export interface FindSecretsOfOtherKeysRow {
  id: string
  secret: string
  previous_secret: string | null
}

/**
 * The deliveries of the endpoints :endpoint_ids of a user. TypeIDs sort by creation time. Planned for each
 * call: the latest of a busy endpoint are near the end of the table, those of others only in the index.
 * @see prisma/sql/webhooks/list-all-deliveries.sql
 */
export const listAllDeliveries = page<{ unlimited_key_types: readonly string[]; endpoint_ids: readonly string[] }, { user_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; endpoint_id: string; event_id: string; status: readonly ('pending' | 'succeeded' | 'failed')[]; event_type: readonly string[] }, 'created_at', ListAllDeliveriesRow>(
  'webhooks/list-all-deliveries',
  {
    select: `SELECT d.id, d.endpoint_id, d.event_id, e.type AS event_type, d.status, d.attempts,
d.next_attempt_at, d.request, d.created_at, d.updated_at,
u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($1)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AS "readable",
json_build_object('id', e.id, 'type', e.type,
  'created_at', to_char(e.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'api_version', 'v1',
  'project_id', CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END, 'organization_id', CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END,
  'request_id', e.request_id, 'client_request_id', e.client_request_id,
  'actor', e.actor, 'data', e.data) AS event
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id
JOIN users u ON u.id = w.user_id
LEFT JOIN event_readers m ON m.project_id = e.project_id AND m.user_id = w.user_id
WHERE d.endpoint_id = ANY($2)`,
    names: ['unlimited_key_types', 'endpoint_ids', 'user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'endpoint_id', 'event_id', 'status', 'event_type'],
    filters: {
      user_id: { sql: `w.user_id = $3`, searches: true },
      created_after: { sql: `d.id >= id_at('whd', $4)`, searches: true },
      created_before: { sql: `d.id < id_at('whd', $5)`, searches: true },
      updated_after: { sql: `d.updated_at >= $6`, searches: true },
      updated_before: { sql: `d.updated_at < $7`, searches: true },
      endpoint_id: { sql: `d.endpoint_id = $8` },
      event_id: { sql: `d.event_id = $9` },
      status: { sql: `d.status = ANY($10)` },
      event_type: { sql: `e.type = ANY($11)` },
    },
    sorts: {
      created_at: `d.id`,
    },
    id: `d.id`,
    totals: {
      'user_id': `SELECT count(*) AS total FROM webhook_deliveries WHERE endpoint_id = ANY($2)`,
    },
  },
)
export interface ListAllDeliveriesRow {
  id: string
  endpoint_id: string
  event_id: string
  event_type: EventType
  status: 'pending' | 'succeeded' | 'failed'
  attempts: Schemas['WebhookAttempt'][]
  next_attempt_at: string | null
  request: { url: string; headers: Record<string, string> } | null
  created_at: string
  updated_at: string
  readable: boolean
  event: Schemas['PlatformEvent']
}

/**
 * The deliveries of an endpoint.
 * @see prisma/sql/webhooks/list-deliveries.sql
 */
export const listDeliveries = page<{ unlimited_key_types: readonly string[]; endpoint_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; status: readonly ('pending' | 'succeeded' | 'failed')[]; event_type: readonly string[] }, 'created_at', ListDeliveriesRow>(
  'webhooks/list-deliveries',
  {
    select: `SELECT d.id, d.endpoint_id, d.event_id, e.type AS event_type, d.status, d.attempts,
d.next_attempt_at, d.request, d.created_at, d.updated_at,
u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($1)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AS "readable",
json_build_object('id', e.id, 'type', e.type,
  'created_at', to_char(e.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'api_version', 'v1',
  'project_id', CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END, 'organization_id', CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END,
  'request_id', e.request_id, 'client_request_id', e.client_request_id,
  'actor', e.actor, 'data', e.data) AS event
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id
JOIN users u ON u.id = w.user_id
LEFT JOIN event_readers m ON m.project_id = e.project_id AND m.user_id = w.user_id
WHERE d.endpoint_id = $2`,
    names: ['unlimited_key_types', 'endpoint_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'status', 'event_type'],
    filters: {
      created_after: { sql: `d.created_at >= $3`, searches: true },
      created_before: { sql: `d.created_at < $4`, searches: true },
      updated_after: { sql: `d.updated_at >= $5`, searches: true },
      updated_before: { sql: `d.updated_at < $6`, searches: true },
      status: { sql: `d.status = ANY($7)` },
      event_type: { sql: `e.type = ANY($8)`, searches: true },
    },
    sorts: {
      created_at: `d.created_at`,
    },
    id: `d.id`,
    totals: {
      '': `SELECT count(*) AS total FROM webhook_deliveries WHERE endpoint_id = $2`,
      'status': `SELECT count(*) AS total FROM webhook_deliveries WHERE endpoint_id = $2 AND status = ANY($7)`,
    },
  },
)
export interface ListDeliveriesRow {
  id: string
  endpoint_id: string
  event_id: string
  event_type: EventType
  status: 'pending' | 'succeeded' | 'failed'
  attempts: Schemas['WebhookAttempt'][]
  next_attempt_at: string | null
  request: { url: string; headers: Record<string, string> } | null
  created_at: string
  updated_at: string
  readable: boolean
  event: Schemas['PlatformEvent']
}

/**
 * The endpoints of a user.
 * @see prisma/sql/webhooks/list-endpoints.sql
 */
export const listEndpoints = page<{ user_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; enabled: boolean; key_projects: readonly string[] }, 'created_at' | 'updated_at', ListEndpointsRow>(
  'webhooks/list-endpoints',
  {
    select: `SELECT id, url, description, event_types AS "event_types", enabled, disabled_reason,
CASE WHEN all_projects THEN NULL ELSE project_ids END AS project_ids, metadata, user_id AS created_by,
created_at, updated_at
FROM webhook_endpoints
WHERE user_id = $1 AND deleted_at IS NULL`,
    names: ['user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'enabled', 'key_projects'],
    filters: {
      created_after: { sql: `webhook_endpoints.created_at >= $2`, searches: true },
      created_before: { sql: `webhook_endpoints.created_at < $3`, searches: true },
      updated_after: { sql: `webhook_endpoints.updated_at >= $4`, searches: true },
      updated_before: { sql: `webhook_endpoints.updated_at < $5`, searches: true },
      metadata: { sql: `webhook_endpoints.metadata <> '{}' AND webhook_endpoints.metadata @> $6::jsonb`, searches: true },
      enabled: { sql: `enabled = $7` },
      key_projects: { sql: `NOT all_projects AND project_ids <@ $8` },
    },
    sorts: {
      created_at: `created_at`,
      updated_at: `webhook_endpoints.updated_at`,
    },
    id: `id`,
    totals: {
    },
  },
)
export interface ListEndpointsRow {
  id: string
  url: string
  description: string | null
  event_types: Schemas['WebhookEndpoint']['event_types']
  enabled: boolean
  disabled_reason: Schemas['WebhookEndpoint']['disabled_reason'] | null
  project_ids: string[] | null
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
}

/**
 * The ids of the endpoints of a user whose deliveries an API key with these scopes and projects (null for
 * all) may read, as `keyCanSeeEndpoint` decides.
 * @see prisma/sql/webhooks/list-readable-endpoints.sql
 */
export const listReadableEndpoints = many<{ user_id: string; key_scopes: readonly string[]; key_projects: readonly string[] | null }, ListReadableEndpointsRow>(
  'webhooks/list-readable-endpoints',
  `SELECT id FROM webhook_endpoints
WHERE user_id = $1 AND deleted_at IS NULL AND scopes <@ $2
  AND ($3::text[] IS NULL OR (NOT all_projects AND project_ids <@ $3))`,
  ['user_id', 'key_scopes', 'key_projects'],
  { reads: true },
)
export interface ListReadableEndpointsRow {
  id: string
}

/**
 * Like `find-delivery`, but locks the delivery until the transaction ends.
 * @see prisma/sql/webhooks/lock-delivery.sql
 */
export const lockDelivery = optional<{ unlimited_key_types: readonly string[]; id: string }, LockDeliveryRow>(
  'webhooks/lock-delivery',
  `SELECT d.id, d.endpoint_id, d.event_id, e.type AS event_type, d.status, d.attempts,
d.next_attempt_at, d.request, d.created_at, d.updated_at,
u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($1)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AS "readable",
json_build_object('id', e.id, 'type', e.type,
  'created_at', to_char(e.created_at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'api_version', 'v1',
  'project_id', CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END, 'organization_id', CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END,
  'request_id', e.request_id, 'client_request_id', e.client_request_id,
  'actor', e.actor, 'data', e.data) AS event, w.user_id, w.deleted_at, w.scopes AS "scopes", w.project_ids,
  w.all_projects
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id
JOIN users u ON u.id = w.user_id
LEFT JOIN event_readers m ON m.project_id = e.project_id AND m.user_id = w.user_id
WHERE d.id = $2
FOR NO KEY UPDATE OF d`,
  ['unlimited_key_types', 'id'],
)
export interface LockDeliveryRow {
  id: string
  endpoint_id: string
  event_id: string
  event_type: EventType
  status: 'pending' | 'succeeded' | 'failed'
  attempts: Schemas['WebhookAttempt'][]
  next_attempt_at: string | null
  request: { url: string; headers: Record<string, string> } | null
  created_at: string
  updated_at: string
  readable: boolean
  event: Schemas['PlatformEvent']
  user_id: string
  deleted_at: string | null
  scopes: string[]
  project_ids: string[]
  all_projects: boolean
}

/**
 * Locks an endpoint against other writers until the transaction ends.
 * @see prisma/sql/webhooks/lock-endpoint.sql
 */
export const lockEndpoint = optional<{ id: string }, LockEndpointRow>(
  'webhooks/lock-endpoint',
  `SELECT id FROM webhook_endpoints WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockEndpointRow {
  id: string
}

/**
 * Locks the endpoints that the next statements change, in one order, so that concurrent workers wait
 * instead of deadlocking, and returns their present URLs.
 * @see prisma/sql/webhooks/lock-endpoints.sql
 */
export const lockEndpoints = many<{ ids: readonly string[] }, LockEndpointsRow>(
  'webhooks/lock-endpoints',
  `SELECT id, url FROM webhook_endpoints WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`,
  ['ids'],
)
export interface LockEndpointsRow {
  id: string
  url: string
}

/**
 * The failed deliveries of an endpoint that were created at or after :since, oldest first. Locks them.
 * @see prisma/sql/webhooks/lock-failed-deliveries.sql
 */
export const lockFailedDeliveries = many<{ endpoint_id: string; since: Date | string; limit: number }, LockFailedDeliveriesRow>(
  'webhooks/lock-failed-deliveries',
  `SELECT d.id FROM webhook_deliveries d
WHERE d.endpoint_id = $1 AND d.status = 'failed' AND d.created_at >= $2
ORDER BY d.created_at, d.id LIMIT $3 FOR NO KEY UPDATE`,
  ['endpoint_id', 'since', 'limit'],
)
export interface LockFailedDeliveriesRow {
  id: string
}

/**
 * Makes a pending delivery due now, at the start of the retry schedule, with its job in the queue. `moved`:
 * it waited for a later time. `running`: an attempt is in flight; its time-out ends within a minute. If
 * neither is true, it is due already. Only the job of a retry has the same time as its delivery.
 * @see prisma/sql/webhooks/make-delivery-due.sql
 */
export const makeDeliveryDue = one<{ next_attempt_at: Date | string; id: string }, MakeDeliveryDueRow>(
  'webhooks/make-delivery-due',
  `WITH job AS (
  UPDATE jobs SET due_at = now()
  WHERE queue = 'webhook-deliveries' AND fetches = 0
    AND due_at = $1 AND due_at > clock_timestamp() AND data ->> 'delivery_id' = $2
  RETURNING id
), delivery AS (
  UPDATE webhook_deliveries SET tries = 0, next_attempt_at = now()
  WHERE id = $2 AND EXISTS (SELECT FROM job)
)
SELECT EXISTS (SELECT FROM job) AS "moved", EXISTS (
  SELECT FROM jobs
  WHERE queue = 'webhook-deliveries' AND fetches > 0
    AND due_at > now() AND due_at < now() + interval '1 minute' AND data ->> 'delivery_id' = $2
) AS "running"`,
  ['next_attempt_at', 'id'],
)
export interface MakeDeliveryDueRow {
  moved: boolean
  running: boolean
}

/**
 * Pending deliveries with everything that is needed to send them. `secrets`: the endpoint's current secret,
 * then the previous secret while it is still valid. `allowed`: whether the endpoint's owner may still read
 * the event.
 * @see prisma/sql/webhooks/read-due-deliveries.sql
 */
export const readDueDeliveries = many<{ unlimited_key_types: readonly string[]; ids: readonly string[] }, ReadDueDeliveriesRow>(
  'webhooks/read-due-deliveries',
  `SELECT d.id AS delivery_id, d.tries, d.endpoint_id, w.user_id AS owner, w.url,
  w.enabled AND w.deleted_at IS NULL AS enabled,
  coalesce(w.failing_since < now() - interval '30 seconds', false) AS failing,
  CASE WHEN w.previous_expires_at > now() THEN ARRAY[w.secret, w.previous_secret] ELSE ARRAY[w.secret] END
    AS secrets,
  u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($1)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AS "allowed",
  e.id, e.type, e.created_at, 'v1' AS api_version, CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END AS project_id,
CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END AS organization_id, e.request_id, e.client_request_id, e.actor, e.data
FROM webhook_deliveries d JOIN events e ON e.id = d.event_id JOIN webhook_endpoints w ON w.id = d.endpoint_id
JOIN users u ON u.id = w.user_id
LEFT JOIN event_readers m ON m.project_id = e.project_id AND m.user_id = w.user_id
WHERE d.id = ANY(ARRAY(SELECT unnest($2::text[]))) AND d.status = 'pending'`,
  ['unlimited_key_types', 'ids'],
  { reads: true },
)
export interface ReadDueDeliveriesRow {
  delivery_id: string
  tries: number
  endpoint_id: string
  owner: string
  url: string
  enabled: boolean
  failing: boolean
  secrets: string[]
  allowed: boolean
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

/**
 * Records successful attempts of deliveries, whose jobs leave the queue. A job that expired during the
 * attempt belongs to another worker, which records its own outcome. Of the attempts, the last 20 are kept.
 * The endpoints are locked in one order, so that concurrent workers wait instead of deadlocking.
 * `= ANY(ARRAY(…))` makes PostgreSQL find the rows by index: its statistics of a table that fills and empties
 * are often old, and it would read the whole table.
 * @see prisma/sql/webhooks/record-successes.sql
 */
export const recordSuccesses = none<{ job_ids: readonly string[]; fetches: readonly number[]; ids: readonly string[]; endpoint_ids: readonly string[]; attempts: readonly (object | string)[]; requests: readonly (object | string)[] }>(
  'webhooks/record-successes',
  `WITH own AS (
  DELETE FROM jobs j USING unnest($1::uuid[], $2::int[], $3::text[],
    $4::text[], $5::jsonb[], $6::jsonb[])
    AS o (job_id, fetches, id, endpoint_id, attempt, request)
  WHERE j.id = ANY(ARRAY(SELECT unnest($1::uuid[]))) AND j.id = o.job_id AND j.fetches = o.fetches
  RETURNING o.id, o.endpoint_id, o.attempt, o.request
), recovered AS (
  SELECT w.id FROM webhook_endpoints w
  WHERE w.id IN (SELECT endpoint_id FROM own) AND w.failing_since IS NOT NULL
  ORDER BY w.id FOR NO KEY UPDATE
), cleared AS (
  UPDATE webhook_endpoints SET failing_since = NULL WHERE id IN (SELECT id FROM recovered)
)
UPDATE webhook_deliveries d SET
  status = 'succeeded',
  tries = d.tries + 1,
  attempts = CASE WHEN jsonb_array_length(d.attempts) >= 20 THEN d.attempts - 0 ELSE d.attempts END
    || own.attempt,
  request = own.request,
  next_attempt_at = NULL
FROM own WHERE d.id = ANY(ARRAY(SELECT id FROM own)) AND d.id = own.id`,
  ['job_ids', 'fetches', 'ids', 'endpoint_ids', 'attempts', 'requests'],
)

/**
 * Stores the re-encrypted secrets of endpoints, unless a rotation has replaced them.
 * @see prisma/sql/webhooks/replace-encrypted-secrets.sql
 */
export const replaceEncryptedSecrets = none<{ ids: readonly string[]; known: readonly string[]; secrets: readonly string[]; previous_secrets: readonly (string | null)[] }>(
  'webhooks/replace-encrypted-secrets',
  `UPDATE webhook_endpoints w SET secret = n.secret, previous_secret = n.previous_secret
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
  AS n (id, known, secret, previous_secret)
WHERE w.id = n.id AND w.secret = n.known`,
  ['ids', 'known', 'secrets', 'previous_secrets'],
)

/**
 * Puts deliveries that succeeded or failed back to the start of the retry schedule.
 * @see prisma/sql/webhooks/reset-deliveries.sql
 */
export const resetDeliveries = none<{ ids: readonly string[] }>(
  'webhooks/reset-deliveries',
  `UPDATE webhook_deliveries SET status = 'pending', tries = 0, next_attempt_at = now()
WHERE id = ANY($1) AND status <> 'pending'`,
  ['ids'],
)

/**
 * Notes that endpoints fail from now on, unless they already do.
 * @see prisma/sql/webhooks/set-failing.sql
 */
export const setFailing = none<{ ids: readonly string[] }>(
  'webhooks/set-failing',
  `UPDATE webhook_endpoints SET failing_since = now() WHERE id = ANY($1) AND failing_since IS NULL`,
  ['ids'],
)

/**
 * Appends attempts to deliveries, of which the last 20 are kept, and sets their status. An interrupted
 * attempt is null and does not count.
 * @see prisma/sql/webhooks/update-deliveries.sql
 */
export const updateDeliveries = none<{ ids: readonly string[]; statuses: readonly ('pending' | 'succeeded' | 'failed')[]; attempts: readonly (object | string | null)[]; requests: readonly (object | string | null)[]; nexts: readonly (Date | string | null)[] }>(
  'webhooks/update-deliveries',
  `UPDATE webhook_deliveries d SET
  status = o.status,
  tries = d.tries + (o.attempt IS NOT NULL)::int,
  attempts = CASE WHEN o.attempt IS NULL THEN d.attempts
    ELSE CASE WHEN jsonb_array_length(d.attempts) >= 20 THEN d.attempts - 0 ELSE d.attempts END
      || o.attempt END,
  request = coalesce(o.request, d.request),
  next_attempt_at = o.next
FROM unnest($1::text[], $2::"WebhookDeliveryStatus"[], $3::jsonb[], $4::jsonb[],
    $5::timestamptz[])
  AS o (id, status, attempt, request, next)
WHERE d.id = o.id`,
  ['ids', 'statuses', 'attempts', 'requests', 'nexts'],
)
