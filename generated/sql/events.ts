// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import type { EventType } from '../events.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Adds deliveries of the numbered events after a sequence, at most :most: of an event in a project or an
 * organization, to the endpoints of its members; of one about a user, to those of the user; of any other, to
 * all; and of a sale, to those of operators, too. The next call continues after the last of them. OFFSET 0
 * keeps each event a search of its own.
 * @see prisma/sql/events/add-event-deliveries.sql
 */
export const addEventDeliveries = one<{ after: number; through: number; unlimited_key_types: readonly string[]; most: number }, AddEventDeliveriesRow>(
  'events/add-event-deliveries',
  `WITH e AS MATERIALIZED (
  SELECT * FROM events WHERE sequence > $1 AND sequence <= $2 AND delivers
), all_recipients AS (
  SELECT r.* FROM e CROSS JOIN LATERAL (
    SELECT e.sequence, e.id AS event_id, e.created_at, e.traceparent, w.id, coalesce(w.failing_since < now() - interval '30 seconds', false) AS failing
    FROM event_readers m JOIN webhook_endpoints w ON w.user_id = m.user_id JOIN users u ON u.id = w.user_id
    WHERE m.project_id = e.project_id AND w.enabled AND w.deleted_at IS NULL AND w.event_types && ARRAY[e.type, split_part(e.type, '.', 1) || '.*',
  CASE WHEN e.type <> 'audit.recorded' THEN '*' END] AND u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($3)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AND w.events_after < e.position OFFSET 0
  ) r
  WHERE e.project_id IS NOT NULL
  UNION
  SELECT r.* FROM e CROSS JOIN LATERAL (
    SELECT e.sequence, e.id AS event_id, e.created_at, e.traceparent, w.id, coalesce(w.failing_since < now() - interval '30 seconds', false) AS failing
    FROM webhook_endpoints w JOIN users u ON u.id = w.user_id CROSS JOIN (SELECT NULL::"MemberRole" AS role, NULL::"MemberRole" AS storage_role,
  NULL::"MemberRole" AS ai_role, NULL::"MemberRole" AS payments_role) m
    WHERE w.user_id = e.user_id AND w.enabled AND w.deleted_at IS NULL AND w.event_types && ARRAY[e.type, split_part(e.type, '.', 1) || '.*',
  CASE WHEN e.type <> 'audit.recorded' THEN '*' END] AND u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($3)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AND w.events_after < e.position OFFSET 0
  ) r
  WHERE e.project_id IS NULL AND e.user_id IS NOT NULL
  UNION
  SELECT r.* FROM e CROSS JOIN LATERAL (
    SELECT e.sequence, e.id AS event_id, e.created_at, e.traceparent, w.id, coalesce(w.failing_since < now() - interval '30 seconds', false) AS failing
    FROM webhook_endpoints w JOIN users u ON u.id = w.user_id CROSS JOIN (SELECT NULL::"MemberRole" AS role, NULL::"MemberRole" AS storage_role,
  NULL::"MemberRole" AS ai_role, NULL::"MemberRole" AS payments_role) m
    WHERE w.enabled AND w.deleted_at IS NULL AND w.event_types && ARRAY[e.type, split_part(e.type, '.', 1) || '.*',
  CASE WHEN e.type <> 'audit.recorded' THEN '*' END] AND u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($3)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AND w.events_after < e.position OFFSET 0
  ) r
  WHERE e.project_id IS NULL AND e.user_id IS NULL
  UNION
  SELECT r.* FROM e CROSS JOIN LATERAL (
    SELECT e.sequence, e.id AS event_id, e.created_at, e.traceparent, w.id, coalesce(w.failing_since < now() - interval '30 seconds', false) AS failing
    FROM users u JOIN webhook_endpoints w ON w.user_id = u.id CROSS JOIN (SELECT NULL::"MemberRole" AS role, NULL::"MemberRole" AS storage_role,
  NULL::"MemberRole" AS ai_role, NULL::"MemberRole" AS payments_role) m
    WHERE u.role = 'admin' AND w.enabled AND w.deleted_at IS NULL AND w.event_types && ARRAY[e.type, split_part(e.type, '.', 1) || '.*',
  CASE WHEN e.type <> 'audit.recorded' THEN '*' END] AND u.status = 'active' AND (e.type = 'webhook_endpoint.tested' OR (
  e.scope = ANY(w.scopes) AND ((u.role='admin') OR e.scope <> 'admin')
AND (w.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY($3)
  ELSE e.project_id = ANY(w.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = w.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND (u.role='admin') AND w.scopes && '{admin,payments:sell}')
)
)) AND w.events_after < e.position OFFSET 0
  ) r
  WHERE e.scope = 'payments:read'
), recipients AS (
  SELECT r.* FROM all_recipients r, event_log l
  WHERE (r.sequence, r.id) > (l.partial_sequence, l.partial_endpoint_id)
  ORDER BY r.sequence, r.id LIMIT $4
), added AS (
  SELECT count(*)::int AS count, max(sequence) AS sequence FROM recipients
), moved AS (
  UPDATE event_log SET
    delivered_sequence = CASE WHEN added.count < $4 THEN $2 ELSE added.sequence - 1 END,
    partial_sequence = coalesce(added.sequence, partial_sequence),
    partial_endpoint_id =
      coalesce((SELECT max(id) FROM recipients WHERE sequence = added.sequence), partial_endpoint_id)
  FROM added
  RETURNING delivered_sequence
)
, deliveries AS (
  INSERT INTO webhook_deliveries (id, endpoint_id, event_id, next_attempt_at, created_at)
  SELECT new_id('whd', r.created_at), r.id, r.event_id, r.created_at, r.created_at FROM recipients r
  RETURNING id, endpoint_id, event_id
), added_jobs AS (
  INSERT INTO jobs (queue, lane, group_id, data)
  SELECT 'webhook-deliveries', CASE WHEN r.failing THEN 'failing' ELSE 'main' END, r.id,
    jsonb_strip_nulls(jsonb_build_object('delivery_id', d.id, 'traceparent', r.traceparent))
  FROM recipients r JOIN deliveries d ON d.endpoint_id = r.id AND d.event_id = r.event_id
)
SELECT added.count AS "count", moved.delivered_sequence AS "through" FROM added, moved`,
  ['after', 'through', 'unlimited_key_types', 'most'],
)
export interface AddEventDeliveriesRow {
  count: number
  through: number
}

/**
 * Whether an event or a delivery is in no month.
 * @see prisma/sql/events/default-partitions-have-rows.sql
 */
export const defaultPartitionsHaveRows = one<{}, DefaultPartitionsHaveRowsRow>(
  'events/default-partitions-have-rows',
  `SELECT default_partitions_have_rows() AS "filled"`,
  [],
  { reads: true },
)
export interface DefaultPartitionsHaveRowsRow {
  filled: boolean
}

/**
 * Deletes at most :limit deliveries of the events, in the order of the list: the deliveries of an event are
 * deleted before those of the next one. `reached` is the place in the list, from 1, of the last event from
 * which a delivery was deleted; it may have more.
 * @see prisma/sql/events/delete-deliveries.sql
 */
export const deleteDeliveries = one<{ event_ids: readonly string[]; limit: number }, DeleteDeliveriesRow>(
  'events/delete-deliveries',
  `WITH next AS (
  SELECT d.id, e.place
  FROM unnest($1::text[]) WITH ORDINALITY e (id, place)
    CROSS JOIN LATERAL (SELECT id FROM webhook_deliveries WHERE event_id = e.id LIMIT $2) d
  LIMIT $2
), deleted AS (DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(SELECT id FROM next)))
SELECT count(*)::int AS n, max(place)::int AS reached FROM next`,
  ['event_ids', 'limit'],
)
export interface DeleteDeliveriesRow {
  n: number
  reached: number | null
}

/**
 * Deletes events.
 * @see prisma/sql/events/delete-events.sql
 */
export const deleteEvents = none<{ ids: readonly string[] }>(
  'events/delete-events',
  `DELETE FROM events WHERE id = ANY($1)`,
  ['ids'],
)

/**
 * Drops the oldest month of events or deliveries that ended more than :days days ago. Returns its name.
 * @see prisma/sql/events/drop-old-partition.sql
 */
export const dropOldPartition = one<{ days: number }, DropOldPartitionRow>(
  'events/drop-old-partition',
  `SELECT drop_old_partition($1) AS "name"`,
  ['days'],
)
export interface DropOldPartitionRow {
  name: string | null
}

/**
 * An event with its owner, its scope and the role that reads it, and the role of the user in its project.
 * @see prisma/sql/events/find-event.sql
 */
export const findEvent = optional<{ user_id: string; id: string }, FindEventRow>(
  'events/find-event',
  `SELECT e.id, e.type, e.created_at, 'v1' AS api_version, CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END AS project_id,
CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END AS organization_id, e.request_id, e.client_request_id, e.actor, e.data, e.user_id, e.scope, e.role AS min_role,
  role_by_scope(e.scope, m.role, m.storage_role, m.ai_role, m.payments_role) AS role
FROM events e LEFT JOIN event_readers m ON m.project_id = e.project_id AND m.user_id = $1
WHERE e.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface FindEventRow {
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
  user_id: string | null
  scope: string
  min_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  role: 'owner' | 'admin' | 'editor' | 'viewer' | null
}

/**
 * Adds a delivery of an event to one endpoint, and its job. Returns the id of the delivery.
 * @see prisma/sql/events/insert-endpoint-delivery.sql
 */
export const insertEndpointDelivery = one<{ event_id: string; created_at: Date | string; traceparent: string | null; endpoint_id: string }, InsertEndpointDeliveryRow>(
  'events/insert-endpoint-delivery',
  `WITH recipients AS (
  SELECT $1::text AS event_id, $2::timestamptz AS created_at,
    $3::text AS traceparent, $4::text AS id, false AS failing
)
, deliveries AS (
  INSERT INTO webhook_deliveries (id, endpoint_id, event_id, next_attempt_at, created_at)
  SELECT new_id('whd', r.created_at), r.id, r.event_id, r.created_at, r.created_at FROM recipients r
  RETURNING id, endpoint_id, event_id
), added_jobs AS (
  INSERT INTO jobs (queue, lane, group_id, data)
  SELECT 'webhook-deliveries', CASE WHEN r.failing THEN 'failing' ELSE 'main' END, r.id,
    jsonb_strip_nulls(jsonb_build_object('delivery_id', d.id, 'traceparent', r.traceparent))
  FROM recipients r JOIN deliveries d ON d.endpoint_id = r.id AND d.event_id = r.event_id
)
SELECT id FROM deliveries`,
  ['event_id', 'created_at', 'traceparent', 'endpoint_id'],
)
export interface InsertEndpointDeliveryRow {
  id: string
}

/**
 * Inserts an event. With `delivers`, it gets its deliveries when it is numbered.
 * @see prisma/sql/events/insert-event.sql
 */
export const insertEvent = none<{ id: string; type: string; project_id: string | null; user_id: string | null; scope: string; role: 'owner' | 'admin' | 'editor' | 'viewer' | null; request_id: string | null; client_request_id: string | null; actor: object | string; data: object | string; delivers: boolean; traceparent: string | null; created_at: Date | string }>(
  'events/insert-event',
  `INSERT INTO events (id, type, project_id, user_id, scope, role, request_id, client_request_id, actor, data,
  delivers, traceparent, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
  $11, $12, $13)`,
  ['id', 'type', 'project_id', 'user_id', 'scope', 'role', 'request_id', 'client_request_id', 'actor', 'data', 'delivers', 'traceparent', 'created_at'],
)

/**
 * Inserts events of one type, in the order of the arrays. They get their deliveries when they are numbered.
 * @see prisma/sql/events/insert-events.sql
 */
export const insertEvents = none<{ type: string; request_id: string | null; client_request_id: string | null; actor: object | string; traceparent: string | null; ids: readonly string[]; project_ids: readonly (string | null)[]; user_ids: readonly (string | null)[]; scopes: readonly string[]; roles: readonly (string | null)[]; data: readonly string[]; times: readonly (Date | string)[] }>(
  'events/insert-events',
  `INSERT INTO events (id, type, project_id, user_id, scope, role, request_id, client_request_id, actor, data,
  delivers, traceparent, created_at)
SELECT e.id, $1, e.project_id, e.user_id, e.scope, e.role::"MemberRole", $2, $3,
  $4::jsonb, e.data::json, true, $5, e.created_at
FROM unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
  $11::text[], $12::timestamptz[]) WITH ORDINALITY
  AS e (id, project_id, user_id, scope, role, data, created_at, n)
ORDER BY e.n`,
  ['type', 'request_id', 'client_request_id', 'actor', 'traceparent', 'ids', 'project_ids', 'user_ids', 'scopes', 'roles', 'data', 'times'],
)

/**
 * A batch of the events that only a deleted user could read. Operators still read the sales.
 * @see prisma/sql/events/list-events-of-deleted-users.sql
 */
export const listEventsOfDeletedUsers = many<{ limit: number }, ListEventsOfDeletedUsersRow>(
  'events/list-events-of-deleted-users',
  `SELECT e.id FROM users u CROSS JOIN LATERAL (
  SELECT e.id FROM events e
  WHERE e.project_id IS NULL AND e.user_id = u.id AND e.sequence IS NOT NULL AND NOT e.scope = 'payments:read'
  ORDER BY e.sequence LIMIT $1
) e
WHERE u.status = 'deleted' LIMIT $1`,
  ['limit'],
  { reads: true },
)
export interface ListEventsOfDeletedUsersRow {
  id: string
}

/**
 * The organization and its projects, those that the user is a member of.
 * @see prisma/sql/events/list-places.sql
 */
export const listPlaces = many<{ organization_id: string; user_id: string }, ListPlacesRow>(
  'events/list-places',
  `SELECT m.project_id AS "id" FROM projects p JOIN members m ON m.project_id = p.id
WHERE p.organization_id = $1 AND m.user_id = $2
UNION ALL
SELECT m.organization_id FROM organization_members m
WHERE m.organization_id = $1 AND m.user_id = $2 AND m.status = 'active'`,
  ['organization_id', 'user_id'],
  { reads: true },
)
export interface ListPlacesRow {
  id: string
}

/**
 * The oldest events of a project, which are deleted with it. Operators still read the sales.
 * @see prisma/sql/events/list-project-events.sql
 */
export const listProjectEvents = many<{ project_id: string; limit: number }, ListProjectEventsRow>(
  'events/list-project-events',
  `SELECT e.id FROM events e
WHERE e.project_id = $1 AND e.sequence IS NOT NULL AND NOT e.scope = 'payments:read'
ORDER BY e.sequence LIMIT $2`,
  ['project_id', 'limit'],
  { reads: true },
)
export interface ListProjectEventsRow {
  id: string
}

/**
 * The numbered events whose deliveries are not added yet: those after a sequence, through another. One caller
 * at a time, until the transaction ends.
 * @see prisma/sql/events/lock-undelivered.sql
 */
export const lockUndelivered = one<{ limit: number }, LockUndeliveredRow>(
  'events/lock-undelivered',
  `SELECT delivered_sequence AS after, least(last_sequence, delivered_sequence + $1) AS "through"
FROM event_log FOR UPDATE`,
  ['limit'],
)
export interface LockUndeliveredRow {
  after: number
  through: number
}

/**
 * Makes the next months of events and deliveries. Returns the number of partitions.
 * @see prisma/sql/events/make-partitions.sql
 */
export const makePartitions = one<{}, MakePartitionsRow>(
  'events/make-partitions',
  `SELECT make_partitions() AS "made"`,
)
export interface MakePartitionsRow {
  made: number
}

/**
 * Assigns a sequence to a batch of the committed events that have none. Returns the last sequence of the
 * log, the number of events, and whether numbered events lack their deliveries.
 * @see prisma/sql/events/number-events.sql
 */
export const numberEvents = one<{ limit: number }, NumberEventsRow>(
  'events/number-events',
  `SELECT last AS "last", numbered AS "numbered", lacks_deliveries() AS "undelivered"
FROM number_events($1)`,
  ['limit'],
)
export interface NumberEventsRow {
  last: number
  numbered: number
  undelivered: boolean
}

/**
 * The key that encrypts the cursors of the event log.
 * @see prisma/sql/events/read-cursor-key.sql
 */
export const readCursorKey = one<{}, ReadCursorKeyRow>(
  'events/read-cursor-key',
  `SELECT cursor_key FROM event_log`,
  [],
  { reads: true },
)
export interface ReadCursorKeyRow {
  cursor_key: Buffer
}

/**
 * The state of the log, and the events before a sequence that the caller can read, newest first. Without
 * events there is one row.
 * @see prisma/sql/events/read-events-backward.sql
 */
export const readEventsBackward = many<{ user_id: string; scopes: readonly string[]; types: readonly string[] | null; all_projects: boolean; project_ids: readonly string[] | null; in_project: boolean; operator: boolean; limit: number; first_block: number; unlimited_key_types: readonly string[]; before: number; max_scan: number }, ReadEventsBackwardRow>(
  'events/read-events-backward',
  `SELECT l.last_sequence AS last, l.removed_through AS removed,
  EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) AS unnumbered, x.*
FROM (
  SELECT *, -1 AS step, high AS start, high AS base, low AS stop, $1::text AS user_id, $2::text[] AS scopes, $3::text[] AS types,
$4::boolean AS all_projects, $5::text[] AS project_ids,
$6::boolean AS in_project, $7::boolean AS operator, $8::bigint AS page,
$9::bigint AS first_block, $10::text[] AS unlimited_key_types,
NULL::bigint AS no_limit
  FROM (
    SELECT last_sequence, removed_through,
      greatest(removed_through, least($11::bigint - 1, last_sequence) - $12) AS low,
      least($11 - 1, last_sequence) AS high
    FROM event_log
  ) l OFFSET 0
) l LEFT JOIN LATERAL (
  SELECT k.sequence, e.id, e.type, e.created_at, 'v1' AS api_version, CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END AS project_id,
CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END AS organization_id, e.request_id, e.client_request_id, e.actor, e.data FROM (
  WITH RECURSIVE log AS (
    SELECT l.start AS at, l.first_block AS size, '{}'::text[] AS ids, '{}'::bigint[] AS sequences
    WHERE l.all_projects
    UNION ALL
    SELECT b.next, b.size * 2, b.ids || k.ids, b.sequences || k.sequences
    FROM (
      SELECT g.*, l.step * least(l.step * l.stop,
        l.step * CASE WHEN g.at = l.start THEN l.base ELSE g.at END + g.size) AS next
      FROM log g
      WHERE l.step * g.at < l.step * l.stop AND cardinality(g.ids) < l.page AND (
        EXISTS (
          SELECT FROM members m WHERE m.user_id = l.user_id AND m.project_status <> 'deleted'
          ORDER BY m.project_id OFFSET least(2 * g.size - l.first_block, l.step * (l.stop - g.at)) LIMIT 1
        ) OR EXISTS (
          SELECT FROM organization_members m WHERE m.user_id = l.user_id AND m.status = 'active'
          ORDER BY m.organization_id OFFSET least(2 * g.size - l.first_block, l.step * (l.stop - g.at)) LIMIT 1
        ))
    ) b CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(p.id), '{}') AS ids, coalesce(array_agg(p.sequence), '{}') AS sequences
      FROM (
        SELECT e.id, e.sequence
        FROM events e CROSS JOIN LATERAL (
          SELECT m.* FROM event_readers m WHERE m.project_id = e.project_id AND m.user_id = l.user_id LIMIT 1
        ) m
        WHERE e.sequence > least(b.at, b.next) AND e.sequence <= greatest(b.at, b.next)
          AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
        ORDER BY e.sequence DESC LIMIT l.page
      ) p
    ) k
  ), scanned AS MATERIALIZED (SELECT * FROM log ORDER BY size DESC LIMIT 1)
  SELECT DISTINCT ON (u.sequence) u.id, u.sequence FROM (
    SELECT k.id, k.sequence FROM scanned s CROSS JOIN LATERAL unnest(s.ids, s.sequences) k (id, sequence)
    UNION ALL (
      SELECT p.id, p.sequence FROM scanned s CROSS JOIN LATERAL (
        SELECT p.id, p.sequence
        FROM (
          (SELECT m.project_id AS id FROM members m WHERE m.user_id = l.user_id
           ORDER BY m.project_status, m.project_id LIMIT l.no_limit)
          UNION ALL
          (SELECT m.organization_id FROM organization_members m
           WHERE m.user_id = l.user_id AND m.status = 'active' ORDER BY m.organization_id LIMIT l.no_limit)
        ) place CROSS JOIN LATERAL (
          SELECT m.* FROM event_readers m WHERE m.project_id = place.id AND m.user_id = l.user_id LIMIT 1
        ) m CROSS JOIN LATERAL (
          SELECT e.id, e.sequence FROM events e
WHERE (e.project_id, e.sequence) > (m.project_id, least(s.at,l.stop))
  AND (e.project_id, e.sequence) <= (m.project_id, greatest(s.at,l.stop))
  AND e.project_id IS NOT NULL AND e.sequence IS NOT NULL
  AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
ORDER BY e.project_id DESC, e.sequence DESC LIMIT l.page
        ) p
        WHERE s.at <> l.stop AND cardinality(s.ids) < l.page
        ORDER BY p.sequence DESC LIMIT l.page
      ) p
    ) UNION ALL (
      SELECT p.id, p.sequence FROM unnest(l.project_ids) project (id) CROSS JOIN LATERAL (
        SELECT m.* FROM event_readers m WHERE m.project_id = project.id AND m.user_id = l.user_id LIMIT 1
      ) m CROSS JOIN LATERAL (
        SELECT e.id, e.sequence FROM events e
WHERE (e.project_id, e.sequence) > (m.project_id, l.low)
  AND (e.project_id, e.sequence) <= (m.project_id, l.high)
  AND e.project_id IS NOT NULL AND e.sequence IS NOT NULL
  AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
ORDER BY e.project_id DESC, e.sequence DESC LIMIT l.page
      ) p
      ORDER BY p.sequence DESC LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE e.project_id IS NULL AND NOT l.in_project
        AND (e.user_id, e.sequence) > (l.user_id, l.low) AND (e.user_id, e.sequence) <= (l.user_id, l.high)
        AND e.sequence IS NOT NULL AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(NULL <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
      ORDER BY e.user_id DESC, e.sequence DESC LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE e.project_id IS NULL AND e.user_id IS NULL AND NOT l.in_project
        AND e.sequence > l.low AND e.sequence <= l.high AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(NULL <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
      ORDER BY e.user_id DESC, e.sequence DESC LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE e.scope = 'payments:read' AND l.operator AND l.all_projects
        AND e.sequence > l.low AND e.sequence <= l.high AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(NULL <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
      ORDER BY e.sequence DESC LIMIT l.page
    ) UNION ALL (
      SELECT p.* FROM unnest(l.project_ids) project (id) CROSS JOIN LATERAL (
        SELECT e.id, e.sequence FROM events e
        WHERE e.project_id = project.id AND e.scope = 'payments:read' AND l.operator
          AND e.sequence > l.low AND e.sequence <= l.high AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(NULL <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
        ORDER BY e.sequence DESC LIMIT l.page
      ) p
    )
  ) u ORDER BY u.sequence DESC LIMIT l.page
) k CROSS JOIN LATERAL (SELECT e.* FROM events e WHERE e.id = k.id LIMIT 1) e
) x ON true
ORDER BY x.sequence DESC`,
  ['user_id', 'scopes', 'types', 'all_projects', 'project_ids', 'in_project', 'operator', 'limit', 'first_block', 'unlimited_key_types', 'before', 'max_scan'],
  { reads: true },
)
export interface ReadEventsBackwardRow {
  last: number
  removed: number
  unnumbered: boolean
  sequence: number | null
  id: string | null
  type: EventType | null
  created_at: string | null
  api_version: 'v1' | null
  project_id: string | null
  organization_id: string | null
  request_id: string | null
  client_request_id: string | null
  actor: Schemas['PlatformEvent']['actor'] | null
  data: Schemas['PlatformEvent']['data'] | null
}

/**
 * The state of the log, and the events after a sequence that the caller can read, oldest first. Without
 * events there is one row.
 * @see prisma/sql/events/read-events.sql
 */
export const readEvents = many<{ user_id: string; scopes: readonly string[]; types: readonly string[] | null; all_projects: boolean; project_ids: readonly string[] | null; in_project: boolean; operator: boolean; limit: number; first_block: number; unlimited_key_types: readonly string[]; after: number; max_scan: number }, ReadEventsRow>(
  'events/read-events',
  `SELECT l.last_sequence AS last, l.removed_through AS removed,
  EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) AS unnumbered, x.*
FROM (
  SELECT *, 1 AS step, low AS start, high AS stop, $1::text AS user_id, $2::text[] AS scopes, $3::text[] AS types,
$4::boolean AS all_projects, $5::text[] AS project_ids,
$6::boolean AS in_project, $7::boolean AS operator, $8::bigint AS page,
$9::bigint AS first_block, $10::text[] AS unlimited_key_types,
NULL::bigint AS no_limit
  FROM (
    SELECT last_sequence, removed_through, $11::bigint AS low,
      greatest($11, removed_through) AS base, greatest($11, removed_through) + $12 AS high
    FROM event_log
  ) l OFFSET 0
) l LEFT JOIN LATERAL (
  SELECT k.sequence, e.id, e.type, e.created_at, 'v1' AS api_version, CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END AS project_id,
CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END AS organization_id, e.request_id, e.client_request_id, e.actor, e.data FROM (
  WITH RECURSIVE log AS (
    SELECT l.start AS at, l.first_block AS size, '{}'::text[] AS ids, '{}'::bigint[] AS sequences
    WHERE l.all_projects
    UNION ALL
    SELECT b.next, b.size * 2, b.ids || k.ids, b.sequences || k.sequences
    FROM (
      SELECT g.*, l.step * least(l.step * l.stop,
        l.step * CASE WHEN g.at = l.start THEN l.base ELSE g.at END + g.size) AS next
      FROM log g
      WHERE l.step * g.at < l.step * l.stop AND cardinality(g.ids) < l.page AND (
        EXISTS (
          SELECT FROM members m WHERE m.user_id = l.user_id AND m.project_status <> 'deleted'
          ORDER BY m.project_id OFFSET least(2 * g.size - l.first_block, l.step * (l.stop - g.at)) LIMIT 1
        ) OR EXISTS (
          SELECT FROM organization_members m WHERE m.user_id = l.user_id AND m.status = 'active'
          ORDER BY m.organization_id OFFSET least(2 * g.size - l.first_block, l.step * (l.stop - g.at)) LIMIT 1
        ))
    ) b CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(p.id), '{}') AS ids, coalesce(array_agg(p.sequence), '{}') AS sequences
      FROM (
        SELECT e.id, e.sequence
        FROM events e CROSS JOIN LATERAL (
          SELECT m.* FROM event_readers m WHERE m.project_id = e.project_id AND m.user_id = l.user_id LIMIT 1
        ) m
        WHERE e.sequence > least(b.at, b.next) AND e.sequence <= greatest(b.at, b.next)
          AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
        ORDER BY e.sequence ASC LIMIT l.page
      ) p
    ) k
  ), scanned AS MATERIALIZED (SELECT * FROM log ORDER BY size DESC LIMIT 1)
  SELECT DISTINCT ON (u.sequence) u.id, u.sequence FROM (
    SELECT k.id, k.sequence FROM scanned s CROSS JOIN LATERAL unnest(s.ids, s.sequences) k (id, sequence)
    UNION ALL (
      SELECT p.id, p.sequence FROM scanned s CROSS JOIN LATERAL (
        SELECT p.id, p.sequence
        FROM (
          (SELECT m.project_id AS id FROM members m WHERE m.user_id = l.user_id
           ORDER BY m.project_status, m.project_id LIMIT l.no_limit)
          UNION ALL
          (SELECT m.organization_id FROM organization_members m
           WHERE m.user_id = l.user_id AND m.status = 'active' ORDER BY m.organization_id LIMIT l.no_limit)
        ) place CROSS JOIN LATERAL (
          SELECT m.* FROM event_readers m WHERE m.project_id = place.id AND m.user_id = l.user_id LIMIT 1
        ) m CROSS JOIN LATERAL (
          SELECT e.id, e.sequence FROM events e
WHERE (e.project_id, e.sequence) > (m.project_id, least(s.at,l.stop))
  AND (e.project_id, e.sequence) <= (m.project_id, greatest(s.at,l.stop))
  AND e.project_id IS NOT NULL AND e.sequence IS NOT NULL
  AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
ORDER BY e.project_id ASC, e.sequence ASC LIMIT l.page
        ) p
        WHERE s.at <> l.stop AND cardinality(s.ids) < l.page
        ORDER BY p.sequence ASC LIMIT l.page
      ) p
    ) UNION ALL (
      SELECT p.id, p.sequence FROM unnest(l.project_ids) project (id) CROSS JOIN LATERAL (
        SELECT m.* FROM event_readers m WHERE m.project_id = project.id AND m.user_id = l.user_id LIMIT 1
      ) m CROSS JOIN LATERAL (
        SELECT e.id, e.sequence FROM events e
WHERE (e.project_id, e.sequence) > (m.project_id, l.low)
  AND (e.project_id, e.sequence) <= (m.project_id, l.high)
  AND e.project_id IS NOT NULL AND e.sequence IS NOT NULL
  AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role) <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
ORDER BY e.project_id ASC, e.sequence ASC LIMIT l.page
      ) p
      ORDER BY p.sequence ASC LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE e.project_id IS NULL AND NOT l.in_project
        AND (e.user_id, e.sequence) > (l.user_id, l.low) AND (e.user_id, e.sequence) <= (l.user_id, l.high)
        AND e.sequence IS NOT NULL AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(NULL <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
      ORDER BY e.user_id ASC, e.sequence ASC LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE e.project_id IS NULL AND e.user_id IS NULL AND NOT l.in_project
        AND e.sequence > l.low AND e.sequence <= l.high AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(NULL <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
      ORDER BY e.user_id ASC, e.sequence ASC LIMIT l.page
    ) UNION ALL (
      SELECT e.id, e.sequence FROM events e
      WHERE e.scope = 'payments:read' AND l.operator AND l.all_projects
        AND e.sequence > l.low AND e.sequence <= l.high AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(NULL <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
      ORDER BY e.sequence ASC LIMIT l.page
    ) UNION ALL (
      SELECT p.* FROM unnest(l.project_ids) project (id) CROSS JOIN LATERAL (
        SELECT e.id, e.sequence FROM events e
        WHERE e.project_id = project.id AND e.scope = 'payments:read' AND l.operator
          AND e.sequence > l.low AND e.sequence <= l.high AND (l.types IS NULL OR e.type = ANY(l.types)) AND e.scope = ANY(l.scopes) AND (l.operator OR e.scope <> 'admin')
AND (l.all_projects OR CASE WHEN e.project_id IS NULL THEN NOT e.type = ANY(l.unlimited_key_types)
  ELSE e.project_id = ANY(l.project_ids) END)
AND (
  CASE WHEN e.project_id IS NOT NULL THEN coalesce(NULL <= e.role, false)
    WHEN e.user_id IS NOT NULL THEN e.user_id = l.user_id
    ELSE true END
  OR (e.scope = 'payments:read' AND l.operator AND l.scopes && '{admin,payments:sell}')
)
        ORDER BY e.sequence ASC LIMIT l.page
      ) p
    )
  ) u ORDER BY u.sequence ASC LIMIT l.page
) k CROSS JOIN LATERAL (SELECT e.* FROM events e WHERE e.id = k.id LIMIT 1) e
) x ON true
ORDER BY x.sequence`,
  ['user_id', 'scopes', 'types', 'all_projects', 'project_ids', 'in_project', 'operator', 'limit', 'first_block', 'unlimited_key_types', 'after', 'max_scan'],
  { reads: true },
)
export interface ReadEventsRow {
  last: number
  removed: number
  unnumbered: boolean
  sequence: number | null
  id: string | null
  type: EventType | null
  created_at: string | null
  api_version: 'v1' | null
  project_id: string | null
  organization_id: string | null
  request_id: string | null
  client_request_id: string | null
  actor: Schemas['PlatformEvent']['actor'] | null
  data: Schemas['PlatformEvent']['data'] | null
}

/**
 * The events after a sequence with what decides who can read them, oldest first.
 * @see prisma/sql/events/read-new-events.sql
 */
export const readNewEvents = many<{ after: number; limit: number }, ReadNewEventsRow>(
  'events/read-new-events',
  `SELECT e.sequence AS "sequence", e.id, e.type, e.created_at, 'v1' AS api_version, CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END AS project_id,
CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END AS organization_id, e.request_id, e.client_request_id, e.actor, e.data, e.user_id, e.scope, e.role AS min_role
FROM events e WHERE e.sequence > $1 ORDER BY e.sequence LIMIT $2`,
  ['after', 'limit'],
  { reads: true },
)
export interface ReadNewEventsRow {
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
  user_id: string | null
  scope: string
  min_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
}

/**
 * Seconds since the oldest event that has no sequence was written; 0 without such an event.
 * @see prisma/sql/events/read-numbering-delay.sql
 */
export const readNumberingDelay = one<{}, ReadNumberingDelayRow>(
  'events/read-numbering-delay',
  `SELECT coalesce(
  (SELECT extract(epoch FROM now() - e.created_at) FROM events e WHERE e.sequence IS NULL
    ORDER BY e.position LIMIT 1),
  0)::float8 AS seconds`,
  [],
  { reads: true },
)
export interface ReadNumberingDelayRow {
  seconds: number
}

/**
 * The roles of the users in the projects and organizations.
 * @see prisma/sql/events/read-roles.sql
 */
export const readRoles = many<{ project_ids: readonly string[]; user_ids: readonly string[] }, ReadRolesRow>(
  'events/read-roles',
  `SELECT project_id AS "project_id", user_id AS "user_id", role AS "role", storage_role,
  ai_role, payments_role
FROM event_readers
WHERE project_id = ANY($1) AND user_id = ANY($2)`,
  ['project_ids', 'user_ids'],
  { reads: true },
)
export interface ReadRolesRow {
  project_id: string
  user_id: string
  role: 'owner' | 'admin' | 'editor' | 'viewer'
  storage_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  ai_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  payments_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
}
