// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Deletes a batch of portal sessions that have expired. Returns their number.
 * @see prisma/sql/portal/delete-expired.sql
 */
export const deleteExpired = one<{ limit: number }, DeleteExpiredRow>(
  'portal/delete-expired',
  `WITH removed AS (
  DELETE FROM portal_sessions WHERE id = ANY(ARRAY(
    SELECT id FROM portal_sessions WHERE expires_at <= now() ORDER BY expires_at LIMIT $1))
  RETURNING 1
)
SELECT count(*)::int AS n FROM removed`,
  ['limit'],
)
export interface DeleteExpiredRow {
  n: number
}

/**
 * Ends a portal session.
 * @see prisma/sql/portal/end-session.sql
 */
export const endSession = none<{ id: string }>(
  'portal/end-session',
  `DELETE FROM portal_sessions WHERE id = $1`,
  ['id'],
)

/**
 * Uses up the link of a portal session: from now on its cookie counts. No row if the link has ended.
 * @see prisma/sql/portal/enter.sql
 */
export const enter = optional<{ cookie_digest: string; seconds: number; digest: string }, EnterRow>(
  'portal/enter',
  `UPDATE portal_sessions SET cookie_digest = $1, updated_at = now(),
  expires_at = now() + $2 * interval '1 second'
WHERE digest = $3 AND cookie_digest IS NULL AND expires_at > now()
RETURNING id`,
  ['cookie_digest', 'seconds', 'digest'],
)
export interface EnterRow {
  id: string
}

/**
 * A portal session of a customer that has not ended.
 * @see prisma/sql/portal/find-session-by-id.sql
 */
export const findSessionById = optional<{ customer_id: string; id: string }, FindSessionByIdRow>(
  'portal/find-session-by-id',
  `SELECT t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
t.return_url, t.expires_at, t.created_by, t.created_at, t.updated_at
FROM portal_sessions t
WHERE t.customer_id = $1 AND t.id = $2 AND t.expires_at > now()`,
  ['customer_id', 'id'],
  { reads: true },
)
export interface FindSessionByIdRow {
  id: string
  customer_id: string
  seller_organization_id: string | null
  return_url: string | null
  expires_at: string
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * The portal session of a cookie, with its customer.
 * @see prisma/sql/portal/find-session.sql
 */
export const findSession = optional<{ cookie_digest: string }, FindSessionRow>(
  'portal/find-session',
  `SELECT t.id, t.customer_id, t.return_url, c.organization_id, c.name, c.email
FROM portal_sessions t JOIN customers c ON c.id = t.customer_id
WHERE t.cookie_digest = $1 AND t.expires_at > now() AND c.deleted_at IS NULL`,
  ['cookie_digest'],
  { reads: true },
)
export interface FindSessionRow {
  id: string
  customer_id: string
  return_url: string | null
  organization_id: string | null
  name: string | null
  email: string | null
}

/**
 * Inserts a portal session of a customer, and ends all but its latest sessions.
 * @see prisma/sql/portal/insert-session.sql
 */
export const insertSession = one<{ customer_id: string; others: number; id: string; digest: string; return_url: string | null; created_by: string; expires_at: Date | string; created_at: Date | string }, InsertSessionRow>(
  'portal/insert-session',
  `WITH ended AS (
  DELETE FROM portal_sessions WHERE id = ANY(ARRAY(
    SELECT o.id FROM portal_sessions o WHERE o.customer_id = $1 ORDER BY o.id DESC OFFSET $2))
)
INSERT INTO portal_sessions AS t (id, customer_id, digest, return_url, created_by, expires_at, created_at,
  updated_at)
VALUES ($3, $1, $4, $5, $6, $7, $8, $8)
RETURNING t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
t.return_url, t.expires_at, t.created_by, t.created_at, t.updated_at`,
  ['customer_id', 'others', 'id', 'digest', 'return_url', 'created_by', 'expires_at', 'created_at'],
)
export interface InsertSessionRow {
  id: string
  customer_id: string
  seller_organization_id: string | null
  return_url: string | null
  expires_at: string
  created_by: string | null
  created_at: string
  updated_at: string
}

/**
 * The cards of a customer, the default first.
 * @see prisma/sql/portal/list-cards.sql
 */
export const listCards = many<{ customer_id: string; limit: number }, ListCardsRow>(
  'portal/list-cards',
  `SELECT t.id, t.brand, t.last4, t.exp_month, t.exp_year
FROM payment_methods t
WHERE t.customer_id = $1
ORDER BY t.chosen_at DESC, t.id DESC LIMIT $2`,
  ['customer_id', 'limit'],
  { reads: true },
)
export interface ListCardsRow {
  id: string
  brand: string
  last4: string
  exp_month: number | null
  exp_year: number | null
}

/**
 * The orders of a customer that were not canceled, the latest first: those before :before.
 * @see prisma/sql/portal/list-orders.sql
 */
export const listOrders = many<{ customer_id: string; before: string | null; limit: number }, ListOrdersRow>(
  'portal/list-orders',
  `SELECT o.id, o.number, o.status, o.total_amount, o.refunded_amount, o.currency, o.paid_at, o.created_at
FROM orders o
WHERE o.customer_id = $1 AND o.status <> 'canceled' AND ($2::text IS NULL OR o.id < $2)
ORDER BY o.id DESC LIMIT $3`,
  ['customer_id', 'before', 'limit'],
  { reads: true },
)
export interface ListOrdersRow {
  id: string
  number: string
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  total_amount: number
  refunded_amount: number
  currency: string
  paid_at: string | null
  created_at: string
}

/**
 * The plans that a subscription of a customer may change to: the active recurring prices of its product in
 * its currency. None for a subscription of another customer.
 * @see prisma/sql/portal/list-plans.sql
 */
export const listPlans = many<{ id: string; customer_id: string; limit: number }, ListPlansRow>(
  'portal/list-plans',
  `SELECT q.id, q.unit_amount, q.currency, q.interval AS "interval", q.interval_count AS "interval_count",
  d.name, q.id = s.price_id AS "is_current", q.usage IS NOT NULL AS has_usage
FROM subscriptions s JOIN prices p ON p.id = s.price_id JOIN products d ON d.id = p.product_id
  JOIN prices q ON q.product_id = p.product_id AND q.currency = p.currency AND q.interval IS NOT NULL
WHERE s.id = $1 AND s.customer_id = $2 AND (q.active AND d.active OR q.id = s.price_id)
ORDER BY q.unit_amount, q.id LIMIT $3`,
  ['id', 'customer_id', 'limit'],
  { reads: true },
)
export interface ListPlansRow {
  id: string
  unit_amount: number
  currency: Schemas['Currency']
  interval: 'day' | 'week' | 'month' | 'year'
  interval_count: number
  name: string
  is_current: boolean
  has_usage: boolean
}

/**
 * The subscriptions of a customer that have begun: those that have not ended first, then the latest.
 * @see prisma/sql/portal/list-subscriptions.sql
 */
export const listSubscriptions = many<{ customer_id: string; limit: number }, ListSubscriptionsRow>(
  'portal/list-subscriptions',
  `SELECT s.id, s.status, s.cancel_at_period_end, s.change IS NOT NULL AS "changes",
  s.period_end, p.currency, p.interval AS "interval",
  p.interval_count AS "interval_count", i.name AS "name", i.amount AS "amount",
  i.has_usage AS "has_usage"
FROM subscriptions s JOIN prices p ON p.id = s.price_id, LATERAL (
  SELECT string_agg(concat(r.name, CASE WHEN item.quantity > 1 THEN concat(' × ', item.quantity) END), ', ')
    AS name, sum(q.unit_amount * item.quantity)::bigint AS amount, bool_or(q.usage IS NOT NULL) AS has_usage
  FROM jsonb_to_recordset(coalesce(s.items, jsonb_build_array(
    jsonb_build_object('price_id', s.price_id, 'quantity', s.quantity))))
    item (price_id text, quantity integer)
  JOIN prices q ON q.id = item.price_id JOIN products r ON r.id = q.product_id
) i
WHERE s.customer_id = $1 AND s.status <> 'incomplete' AND s.period > 0
ORDER BY s.status = 'canceled', s.id DESC LIMIT $2`,
  ['customer_id', 'limit'],
  { reads: true },
)
export interface ListSubscriptionsRow {
  id: string
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  cancel_at_period_end: boolean
  changes: boolean
  period_end: string | null
  currency: string
  interval: 'day' | 'week' | 'month' | 'year'
  interval_count: number
  name: string
  amount: number
  has_usage: boolean
}
