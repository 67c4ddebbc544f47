// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Deletes a batch of the usage of a customer who was deleted a while ago: no request records more of it. The
 * caller has locked the adding up. `more`: whether there was such a customer.
 * @see prisma/sql/metering/delete-forgotten.sql
 */
export const deleteForgotten = one<{ limit: number }, DeleteForgottenRow>(
  'metering/delete-forgotten',
  `WITH customer AS MATERIALIZED (
  SELECT c.id, c.organization_id
  FROM forgotten_usage f JOIN customers c ON c.id = f.customer_id
  WHERE c.deleted_at < now() - interval '10 minutes'
  ORDER BY c.id LIMIT 1
  FOR UPDATE OF f SKIP LOCKED
), events AS (
  DELETE FROM usage_events WHERE ctid = ANY(ARRAY(
    SELECT e.ctid FROM customer c JOIN meters m ON m.organization_id IS NOT DISTINCT FROM c.organization_id
      JOIN usage_events e ON e.meter_id = m.id AND e.customer_id = c.id LIMIT $1))
  RETURNING 1
), deltas AS (
  DELETE FROM usage_deltas WHERE ctid = ANY(ARRAY(
    SELECT d.ctid FROM customer c JOIN meters m ON m.organization_id IS NOT DISTINCT FROM c.organization_id
      JOIN usage_deltas d ON d.meter_id = m.id AND d.customer_id = c.id LIMIT $1))
  RETURNING 1
), hours AS (
  DELETE FROM usage_hours WHERE ctid = ANY(ARRAY(
    SELECT h.ctid FROM customer c JOIN meters m ON m.organization_id IS NOT DISTINCT FROM c.organization_id
      JOIN usage_hours h ON h.meter_id = m.id AND h.customer_id = c.id LIMIT $1))
  RETURNING 1
), different AS (
  DELETE FROM usage_values WHERE ctid = ANY(ARRAY(
    SELECT v.ctid FROM customer c JOIN meters m ON m.organization_id IS NOT DISTINCT FROM c.organization_id
      JOIN usage_values v ON v.meter_id = m.id AND v.customer_id = c.id LIMIT $1))
  RETURNING 1
), counted AS (
  SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM deltas) + (SELECT count(*) FROM hours)
    + (SELECT count(*) FROM different) AS n
), done AS (
  DELETE FROM forgotten_usage f USING customer c, counted
  WHERE f.customer_id = c.id AND counted.n = 0
)
SELECT n::int AS "n", EXISTS (SELECT FROM customer) AS "more" FROM counted`,
  ['limit'],
)
export interface DeleteForgottenRow {
  n: number
  more: boolean
}

/**
 * Deletes a batch of old events. Those of the hour in which the current period of a subscription of their
 * customer began stay: they say what was used in this period.
 * @see prisma/sql/metering/delete-old-events.sql
 */
export const deleteOldEvents = one<{ days: number; limit: number }, DeleteOldEventsRow>(
  'metering/delete-old-events',
  `WITH deleted AS (
  DELETE FROM usage_events WHERE ctid = ANY(ARRAY(
    SELECT e.ctid FROM usage_events e
    WHERE e.at < date_trunc('hour', now() - $1::int * interval '1 day', 'UTC') AND NOT EXISTS (
      SELECT FROM subscriptions s
      WHERE s.customer_id = e.customer_id AND s.status <> 'canceled'
        AND date_trunc('hour', coalesce(s.began_at, s.period_start), 'UTC') = date_trunc('hour', e.at, 'UTC'))
    LIMIT $2))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['days', 'limit'],
)
export interface DeleteOldEventsRow {
  n: number
}

/**
 * Deletes a batch of the usage of hours that are more than 25 months ago.
 * @see prisma/sql/metering/delete-old-hours.sql
 */
export const deleteOldHours = one<{ limit: number }, DeleteOldHoursRow>(
  'metering/delete-old-hours',
  `WITH deleted AS (
  DELETE FROM usage_hours WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM usage_hours WHERE hour < now() - interval '25 months' LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldHoursRow {
  n: number
}

/**
 * Deletes a batch of the different values of hours that are more than 25 months ago.
 * @see prisma/sql/metering/delete-old-values.sql
 */
export const deleteOldValues = one<{ limit: number }, DeleteOldValuesRow>(
  'metering/delete-old-values',
  `WITH deleted AS (
  DELETE FROM usage_values WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM usage_values WHERE hour < now() - interval '25 months' LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['limit'],
)
export interface DeleteOldValuesRow {
  n: number
}

/**
 * The customers of a seller with these ids, or with these ids of the seller's own, and their times. Others
 * are deleted, of another seller, or do not exist.
 * @see prisma/sql/metering/find-customers.sql
 */
export const findCustomers = many<{ organization_id: string | null; ids: readonly string[]; external_ids: readonly string[] }, FindCustomersRow>(
  'metering/find-customers',
  `SELECT c.id, c.external_id,
  payments_now() + c.clock_offset * interval '1 millisecond' AS "now"
FROM customers c
WHERE c.deleted_at IS NULL AND c.organization_id IS NOT DISTINCT FROM $1::text
  AND c.id = ANY(ARRAY(
    SELECT unnest($2::text[])
    UNION ALL
    SELECT id FROM customers
    WHERE external_id = ANY($3::text[]) AND deleted_at IS NULL
      AND organization_id = $1
    UNION ALL
    SELECT id FROM customers
    WHERE external_id = ANY($3::text[]) AND deleted_at IS NULL AND organization_id IS NULL
      AND $1::text IS NULL))`,
  ['organization_id', 'ids', 'external_ids'],
  { reads: true },
)
export interface FindCustomersRow {
  id: string
  external_id: string | null
  now: string
}

/**
 * An event of a seller, while events of its time are kept.
 * @see prisma/sql/metering/find-event.sql
 */
export const findEvent = optional<{ seller: string; id: string; days: number }, FindEventRow>(
  'metering/find-event',
  `SELECT e.id, e.meter_id, e.customer_id, e.at, trim_scale(e.quantity)::text AS quantity, e.voided_at, m.aggregation
FROM usage_events e JOIN meters m ON m.id = e.meter_id
WHERE e.seller = $1 AND e.id = $2 AND e.at >= date_trunc('hour', now() - $3::int * interval '1 day', 'UTC')`,
  ['seller', 'id', 'days'],
  { reads: true },
)
export interface FindEventRow {
  id: string
  meter_id: string
  customer_id: string
  at: string
  quantity: string | null
  voided_at: string | null
  aggregation: Schemas['Meter']['aggregation']
}

/**
 * The meters of a seller with these keys. One of unique values is locked, shared, until the transaction ends:
 * voiding one of its events waits.
 * @see prisma/sql/metering/find-meters.sql
 */
export const findMeters = many<{ keys: readonly string[]; organization_id: string | null }, FindMetersRow>(
  'metering/find-meters',
  `SELECT m.key, m.id, m.aggregation, m.property, m.dimensions AS "dimensions", m.active,
  m.source IS NOT NULL AS "is_fed",
  CASE WHEN m.aggregation = 'unique'
    THEN pg_advisory_xact_lock_shared(hashtextextended('usage of ' || m.id, 0)) END::text AS locked
FROM meters m
WHERE m.id = ANY(ARRAY(
  SELECT id FROM meters WHERE key = ANY($1::text[]) AND organization_id = $2
  UNION ALL
  SELECT id FROM meters
  WHERE key = ANY($1::text[]) AND organization_id IS NULL AND $2::text IS NULL))
ORDER BY m.id`,
  ['keys', 'organization_id'],
)
export interface FindMetersRow {
  key: string
  id: string
  aggregation: Schemas['Meter']['aggregation']
  property: string | null
  dimensions: string[]
  active: boolean
  is_fed: boolean
  locked: string | null
}

/**
 * Adds recorded usage to that of its hours. The caller has locked it: one process at a time. Of a customer
 * and an hour, the first 100 combinations of dimensions have a row; the usage of others is in the row without
 * dimensions. Returns the number of deltas.
 * @see prisma/sql/metering/fold-deltas.sql
 */
export const foldDeltas = one<{ limit: number }, FoldDeltasRow>(
  'metering/fold-deltas',
  `WITH taken AS (
  DELETE FROM usage_deltas WHERE id = ANY(ARRAY(
    SELECT id FROM usage_deltas ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
  RETURNING id, meter_id, customer_id, hour, dimensions, quantity, last_at, last_id
), summed AS (
  SELECT u.meter_id, u.customer_id, u.hour, u.dimensions, min(u.id) AS first_id,
    CASE m.aggregation
  WHEN 'max' THEN max(u.quantity)
  WHEN 'last' THEN (array_agg(u.quantity ORDER BY u.last_at DESC, u.last_id DESC))[1]
  ELSE sum(u.quantity)
END AS quantity, max(u.last_at) AS last_at,
    (array_agg(u.last_id ORDER BY u.last_at DESC, u.last_id DESC))[1] AS last_id
  FROM taken u JOIN meters m ON m.id = u.meter_id
  GROUP BY u.meter_id, u.customer_id, u.hour, u.dimensions, m.aggregation
), ranked AS (
  SELECT s.*, s.dimensions = '' OR h.hour IS NOT NULL AS has_row,
    row_number() OVER (PARTITION BY s.meter_id, s.customer_id, s.hour, s.dimensions = '' OR h.hour IS NOT NULL
      ORDER BY s.first_id) AS rank
  FROM summed s
  LEFT JOIN usage_hours h USING (meter_id, customer_id, hour, dimensions)
), placed AS (
  SELECT r.meter_id, r.customer_id, r.hour, r.quantity, r.last_at, r.last_id,
    CASE
      WHEN r.has_row THEN r.dimensions
      WHEN r.rank + (SELECT count(*) FROM usage_hours h WHERE h.meter_id = r.meter_id
        AND h.customer_id = r.customer_id AND h.hour = r.hour AND h.dimensions <> '') <= 100 THEN r.dimensions
      ELSE ''
    END AS dimensions
  FROM ranked r
), folded AS (
  INSERT INTO usage_hours AS h (meter_id, customer_id, hour, dimensions, quantity, last_at, last_id)
  SELECT u.meter_id, u.customer_id, u.hour, u.dimensions, CASE m.aggregation
  WHEN 'max' THEN max(u.quantity)
  WHEN 'last' THEN (array_agg(u.quantity ORDER BY u.last_at DESC, u.last_id DESC))[1]
  ELSE sum(u.quantity)
END, max(u.last_at),
    (array_agg(u.last_id ORDER BY u.last_at DESC, u.last_id DESC))[1]
  FROM placed u JOIN meters m ON m.id = u.meter_id
  GROUP BY u.meter_id, u.customer_id, u.hour, u.dimensions, m.aggregation
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (meter_id, customer_id, hour, dimensions) DO UPDATE SET
    quantity = CASE (SELECT m.aggregation FROM meters m WHERE m.id = h.meter_id)
      WHEN 'max' THEN greatest(h.quantity, excluded.quantity)
      WHEN 'last' THEN CASE WHEN (excluded.last_at, excluded.last_id) > (h.last_at, h.last_id)
        THEN excluded.quantity ELSE h.quantity END
      ELSE h.quantity + excluded.quantity
    END,
    last_id = CASE WHEN (excluded.last_at, excluded.last_id) > (h.last_at, h.last_id)
      THEN excluded.last_id ELSE h.last_id END,
    last_at = greatest(h.last_at, excluded.last_at)
)
SELECT count(*)::int AS n FROM taken`,
  ['limit'],
)
export interface FoldDeltasRow {
  n: number
}

/**
 * Inserts events, except those whose id is there already, and adds their usage. No row is updated, so
 * requests for the same customer do not wait for each other; events of the same ids do, in one order. Returns
 * the number of new events.
 * @see prisma/sql/metering/insert-events.sql
 */
export const insertEvents = one<{ seller: string; ids: readonly string[]; meters: readonly string[]; customers: readonly string[]; times: readonly (Date | string)[]; quantities: readonly (number | string | null)[]; values: readonly (string | null)[]; dimensions: readonly string[] }, InsertEventsRow>(
  'metering/insert-events',
  `WITH added AS (
  INSERT INTO usage_events AS e (seller, id, meter_id, customer_id, at, quantity, value, dimensions)
  SELECT $1, s.id, s.meter_id, s.customer_id, s.at, s.quantity, s.value, s.dimensions
  FROM unnest($2::text[], $3::text[], $4::text[], $5::timestamptz[],
    $6::numeric[], $7::text[], $8::text[]) WITH ORDINALITY
    AS s(id, meter_id, customer_id, at, quantity, value, dimensions, n)
  ORDER BY s.id COLLATE "C", s.n
  ON CONFLICT (seller, id) DO NOTHING
  RETURNING id, meter_id, customer_id, at, quantity, value, dimensions
), deltas AS (
  INSERT INTO usage_deltas (meter_id, customer_id, hour, dimensions, quantity, last_at, last_id)
  SELECT u.meter_id, u.customer_id, u.hour, u.dimensions, CASE m.aggregation
  WHEN 'max' THEN max(u.quantity)
  WHEN 'last' THEN (array_agg(u.quantity ORDER BY u.last_at DESC, u.last_id DESC))[1]
  ELSE sum(u.quantity)
END, max(u.last_at) FILTER (WHERE m.aggregation = 'last'),
(array_agg(u.last_id ORDER BY u.last_at DESC, u.last_id DESC) FILTER (WHERE m.aggregation = 'last'))[1]
  FROM (
    SELECT a.meter_id, a.customer_id, date_trunc('hour', a.at, 'UTC') AS hour, a.dimensions, a.quantity,
      a.at AS last_at, a.id AS last_id
    FROM added a
    WHERE a.value IS NULL
  ) u JOIN meters m ON m.id = u.meter_id
  GROUP BY u.meter_id, u.customer_id, u.hour, u.dimensions, m.aggregation
), different AS (
  INSERT INTO usage_values (meter_id, customer_id, hour, dimensions, value)
  SELECT DISTINCT a.meter_id, a.customer_id, date_trunc('hour', a.at, 'UTC'), a.dimensions, a.value
  FROM added a
  WHERE a.value IS NOT NULL
  ORDER BY 1, 2, 3, 4, 5
  ON CONFLICT DO NOTHING
)
SELECT count(*)::int AS "accepted" FROM added`,
  ['seller', 'ids', 'meters', 'customers', 'times', 'quantities', 'values', 'dimensions'],
)
export interface InsertEventsRow {
  accepted: number
}

/**
 * The usage of a meter from one hour to another, in groups.
 * @see prisma/sql/metering/list-meter-usage.sql
 */
export const listMeterUsage = page<{ meter_id: string; period: string | null; by_customer: boolean; names: readonly string[]; places: readonly number[]; from: Date | string; to: Date | string; customer_id: string | null }, {}, 'start', ListMeterUsageRow>(
  'metering/list-meter-usage',
  {
    select: `SELECT g.id, g.start, g.customer_id, g.dimensions, g.quantity
FROM (
  SELECT k.*, coalesce(k.start, 'epoch') AS start_or_none,
    concat_ws('/', $1,
      coalesce(to_char(k.start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), '-'),
      coalesce(k.customer_id, '-'), k.dimensions) AS "id"
  FROM (
    SELECT CASE WHEN $2::text IS NOT NULL THEN date_trunc($2::text, u.hour, 'UTC') END AS start,
      CASE WHEN $3::boolean THEN u.customer_id END AS customer_id,
      coalesce((
        SELECT jsonb_object_agg(p.name, CASE WHEN u.dimensions <> '' THEN u.dimensions::jsonb ->> p.place END)
        FROM unnest($4::text[], $5::int[]) AS p(name, place)), '{}') AS "dimensions",
      trim_scale(CASE m.aggregation WHEN 'unique' THEN count(DISTINCT u.value)
        ELSE CASE m.aggregation
  WHEN 'max' THEN max(u.quantity)
  WHEN 'last' THEN (array_agg(u.quantity ORDER BY u.last_at DESC, u.last_id DESC))[1]
  ELSE sum(u.quantity)
END END)::text AS "quantity"
    FROM meters m CROSS JOIN LATERAL (
      SELECT h.customer_id, h.hour, h.dimensions, h.quantity, h.last_at, h.last_id, NULL AS value
      FROM usage_hours h
      WHERE h.meter_id = m.id AND h.hour >= $6 AND h.hour < $7
      UNION ALL
      SELECT d.customer_id, d.hour, d.dimensions, d.quantity, d.last_at, d.last_id, NULL
      FROM usage_deltas d
      WHERE d.meter_id = m.id AND d.hour >= $6 AND d.hour < $7
      UNION ALL
      SELECT v.customer_id, v.hour, v.dimensions, NULL, NULL, NULL, v.value
      FROM usage_values v
      WHERE v.meter_id = m.id AND v.hour >= $6 AND v.hour < $7
    ) u
    WHERE m.id = $1 AND ($8::text IS NULL OR u.customer_id = $8)
    GROUP BY 1, 2, 3, m.aggregation
  ) k
) g
WHERE true`,
    names: ['meter_id', 'period', 'by_customer', 'names', 'places', 'from', 'to', 'customer_id'],
    filters: {
    },
    sorts: {
      start: `g.start_or_none`,
    },
    id: `g.id`,
    totals: {
    },
  },
)
export interface ListMeterUsageRow {
  id: string
  start: string | null
  customer_id: string | null
  dimensions: Record<string, string | null>
  quantity: string
}

/**
 * Waits until no process adds up usage or records values of a meter of unique values. Until the transaction
 * ends.
 * @see prisma/sql/metering/lock-recomputation.sql
 */
export const lockRecomputation = one<{ meter_id: string }, LockRecomputationRow>(
  'metering/lock-recomputation',
  `SELECT pg_advisory_xact_lock(hashtextextended('usage', 0))::text AS folding,
  pg_advisory_xact_lock(hashtextextended('usage of ' || $1, 0))::text AS recording`,
  ['meter_id'],
)
export interface LockRecomputationRow {
  folding: string | null
  recording: string | null
}

/**
 * Whether no other process adds up usage, and none recomputes an hour. Until the transaction ends.
 * @see prisma/sql/metering/try-lock-fold.sql
 */
export const tryLockFold = one<{}, TryLockFoldRow>(
  'metering/try-lock-fold',
  `SELECT pg_try_advisory_xact_lock(hashtextextended('usage', 0)) AS "locked"`,
)
export interface TryLockFoldRow {
  locked: boolean
}

/**
 * Voids an event, and computes its hour from the others. The caller has locked the recomputation. Usage that
 * others record meanwhile has rows that this statement does not see. Nothing if it is voided already.
 * @see prisma/sql/metering/void-and-recompute.sql
 */
export const voidAndRecompute = none<{ seller: string; id: string }>(
  'metering/void-and-recompute',
  `WITH voided AS (
  UPDATE usage_events e SET voided_at = payments_now()
  WHERE e.seller = $1 AND e.id = $2 AND e.voided_at IS NULL
  RETURNING e.*, date_trunc('hour', e.at, 'UTC') AS hour
), removed_deltas AS (
  DELETE FROM usage_deltas d USING voided v
  WHERE (d.meter_id, d.customer_id, d.hour) = (v.meter_id, v.customer_id, v.hour)
), removed_hours AS (
  DELETE FROM usage_hours h USING voided v
  WHERE (h.meter_id, h.customer_id, h.hour) = (v.meter_id, v.customer_id, v.hour)
), others AS (
  SELECT e.meter_id, e.customer_id, v.hour, e.dimensions, e.quantity, e.value, e.at AS last_at,
    e.id AS last_id
  FROM voided v JOIN usage_events e ON e.meter_id = v.meter_id AND e.customer_id = v.customer_id
    AND e.at >= v.hour AND e.at < v.hour + interval '1 hour'
  WHERE e.voided_at IS NULL AND (e.seller, e.id) <> (v.seller, v.id)
), removed_value AS (
  DELETE FROM usage_values w USING voided v
  WHERE (w.meter_id, w.customer_id, w.hour, w.dimensions, w.value)
      = (v.meter_id, v.customer_id, v.hour, v.dimensions, v.value)
    AND NOT EXISTS (SELECT FROM others o WHERE (o.dimensions, o.value) = (v.dimensions, v.value))
)
INSERT INTO usage_deltas (meter_id, customer_id, hour, dimensions, quantity, last_at, last_id)
SELECT u.meter_id, u.customer_id, u.hour, u.dimensions, CASE m.aggregation
  WHEN 'max' THEN max(u.quantity)
  WHEN 'last' THEN (array_agg(u.quantity ORDER BY u.last_at DESC, u.last_id DESC))[1]
  ELSE sum(u.quantity)
END, max(u.last_at) FILTER (WHERE m.aggregation = 'last'),
(array_agg(u.last_id ORDER BY u.last_at DESC, u.last_id DESC) FILTER (WHERE m.aggregation = 'last'))[1]
FROM others u JOIN meters m ON m.id = u.meter_id
WHERE u.value IS NULL
GROUP BY u.meter_id, u.customer_id, u.hour, u.dimensions, m.aggregation`,
  ['seller', 'id'],
)

/**
 * Voids an event of a meter that adds up, and subtracts what it counts. Nothing if it is voided already.
 * @see prisma/sql/metering/void-event.sql
 */
export const voidEvent = none<{ seller: string; id: string }>(
  'metering/void-event',
  `WITH voided AS (
  UPDATE usage_events e SET voided_at = payments_now()
  WHERE e.seller = $1 AND e.id = $2 AND e.voided_at IS NULL
  RETURNING e.*
)
INSERT INTO usage_deltas (meter_id, customer_id, hour, dimensions, quantity)
SELECT v.meter_id, v.customer_id, date_trunc('hour', v.at, 'UTC'), v.dimensions, -v.quantity FROM voided v`,
  ['seller', 'id'],
)
