// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Accepts the gateway's state of a subscription again.
 * @see prisma/sql/payments/accept-gateway-state.sql
 */
export const acceptGatewayState = none<{ id: string }>(
  'payments/accept-gateway-state',
  `UPDATE subscriptions SET sync_pending = false, synced_at = NULL WHERE id = $1 AND sync_pending`,
  ['id'],
)

/**
 * Moves a reserved amount of a locked order to its refunded amount.
 * @see prisma/sql/payments/add-refunded-amount.sql
 */
export const addRefundedAmount = one<{ amount: number; at: Date | string; order_id: string }, AddRefundedAmountRow>(
  'payments/add-refunded-amount',
  `UPDATE orders o SET refunding_amount = refunding_amount - $1,
  refunded_amount = refunded_amount + $1,
  status = CASE WHEN refunded_amount + $1 = total_amount
    THEN 'refunded' ELSE 'partially_refunded' END::"OrderStatus",
  updated_at = greatest($2, updated_at + interval '1 millisecond')
WHERE id = $3 AND status IN ('paid', 'partially_refunded')
RETURNING o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id, coalesce(o.owner_id, o.customer_id) AS "owner_id"`,
  ['amount', 'at', 'order_id'],
)
export interface AddRefundedAmountRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Keeps a subscription from being due until the charge for its period has an outcome. Its trial, if it had
 * one, is over.
 * @see prisma/sql/payments/await-charge.sql
 */
export const awaitCharge = one<{ id: string }, AwaitChargeRow>(
  'payments/await-charge',
  `UPDATE subscriptions s SET due_at = NULL,
  status = CASE WHEN s.status = 'past_due' THEN s.status ELSE 'active' END
WHERE id = $1 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['id'],
)
export interface AwaitChargeRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Changes the items of a subscription, and removes its scheduled change. :restart starts a new period at :at;
 * :re_anchor counts the later periods from the end of this one, because the billing interval changes.
 * @see prisma/sql/payments/change-items.sql
 */
export const changeItems = one<{ price_id: string; quantity: number; items: object | string | null; gateway: string; paid_items: object | string | null; owed: number; restart: boolean; uncredited: number; at: Date | string; re_anchor: boolean; id: string }, ChangeItemsRow>(
  'payments/change-items',
  `UPDATE subscriptions s SET price_id = $1, quantity = $2, items = $3, gateway = $4,
  change = NULL, paid_items = $5, owed_amount = s.owed_amount + $6,
  uncredited_amount = CASE WHEN $7 THEN 0 ELSE s.uncredited_amount + $8 END,
  anchor_at = CASE WHEN $7 THEN $9::timestamptz WHEN $10 THEN s.period_end ELSE s.anchor_at END,
  anchor_period = CASE WHEN $7 OR $10 THEN s.period ELSE s.anchor_period END,
  period = s.period + $7::int,
  period_start = CASE WHEN $7 THEN $9 ELSE s.period_start END,
  began_at = CASE WHEN NOT $7 THEN s.began_at END,
  period_end = CASE WHEN $7 THEN $9::timestamptz + (p.interval_count * 1) * ('1 ' || p.interval::text)::interval ELSE s.period_end END,
  due_at = CASE WHEN $7 THEN $9::timestamptz + (p.interval_count * 1) * ('1 ' || p.interval::text)::interval
    WHEN s.status = 'trialing' THEN s.due_at ELSE s.period_end END
FROM prices p
WHERE s.id = $11 AND p.id = $1
RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['price_id', 'quantity', 'items', 'gateway', 'paid_items', 'owed', 'restart', 'uncredited', 'at', 're_anchor', 'id'],
)
export interface ChangeItemsRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Records what an order charges for the usage of periods, which ends those that are open. Late usage changes
 * a period for :window_days days.
 * @see prisma/sql/payments/charge-usage.sql
 */
export const chargeUsage = none<{ window_days: number; at: Date | string; ids: readonly number[]; end_ats: readonly (Date | string)[]; quantities: readonly string[]; carrieds: readonly string[] }>(
  'payments/charge-usage',
  `UPDATE usage_periods u SET end_at = c.end_at, quantity = c.quantity::numeric, carried = c.carried::numeric,
  settled = c.end_at + $1 * interval '1 day' <= $2
FROM unnest($3::bigint[], $4::timestamptz[], $5::text[], $6::text[])
  AS c (id, end_at, quantity, carried)
WHERE u.id = c.id`,
  ['window_days', 'at', 'ids', 'end_ats', 'quantities', 'carrieds'],
)

/**
 * Makes a payment method the default of its customer.
 * @see prisma/sql/payments/choose-payment-method.sql
 */
export const choosePaymentMethod = optional<{ at: Date | string; customer_id: string; id: string }, ChoosePaymentMethodRow>(
  'payments/choose-payment-method',
  `UPDATE payment_methods t SET chosen_at = greatest($1, (SELECT max(c.chosen_at) + interval '1 millisecond' FROM payment_methods c
  WHERE c.customer_id = $2)), updated_at = greatest($1, updated_at)
WHERE customer_id = $2 AND id = $3
RETURNING t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
jsonb_build_object('brand', t.brand, 'last4', t.last4, 'exp_month', t.exp_month,
  'exp_year', t.exp_year) AS "card",
NOT EXISTS (SELECT FROM payment_methods o WHERE o.customer_id = t.customer_id
  AND (o.chosen_at, o.id) > (t.chosen_at, t.id)) AS "is_default",
t.created_at, t.updated_at`,
  ['at', 'customer_id', 'id'],
)
export interface ChoosePaymentMethodRow {
  id: string
  customer_id: string
  seller_organization_id: string | null
  card: Schemas['StoredCard']
  is_default: boolean
  created_at: string
  updated_at: string
}

/**
 * How many other customers of the same seller have a clock that is ahead.
 * @see prisma/sql/payments/count-moved-clocks.sql
 */
export const countMovedClocks = one<{ customer_id: string }, CountMovedClocksRow>(
  'payments/count-moved-clocks',
  `SELECT count(*) AS "count" FROM customers c JOIN customers t ON t.id = $1
WHERE c.clock_offset > 0 AND c.deleted_at IS NULL AND c.id <> t.id
  AND c.organization_id IS NOT DISTINCT FROM t.organization_id`,
  ['customer_id'],
  { reads: true },
)
export interface CountMovedClocksRow {
  count: number
}

/**
 * Deletes a batch of the webhook events that were received more than :days ago.
 * @see prisma/sql/payments/delete-gateway-events.sql
 */
export const deleteGatewayEvents = one<{ days: number; limit: number }, DeleteGatewayEventsRow>(
  'payments/delete-gateway-events',
  `WITH deleted AS (
  DELETE FROM gateway_events WHERE id = ANY(ARRAY(
    SELECT id FROM gateway_events WHERE received_at < now() - make_interval(days => $1) LIMIT $2))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['days', 'limit'],
)
export interface DeleteGatewayEventsRow {
  n: number
}

/**
 * Deletes a payment method. No row if there is none.
 * @see prisma/sql/payments/delete-payment-method.sql
 */
export const deletePaymentMethod = optional<{ customer_id: string; id: string }, DeletePaymentMethodRow>(
  'payments/delete-payment-method',
  `DELETE FROM payment_methods WHERE customer_id = $1 AND id = $2 RETURNING brand, last4`,
  ['customer_id', 'id'],
)
export interface DeletePaymentMethodRow {
  brand: string
  last4: string
}

/**
 * Detaches a batch of checkout sessions from a project.
 * @see prisma/sql/payments/detach-checkouts.sql
 */
export const detachCheckouts = one<{ project_id: string; limit: number }, DetachCheckoutsRow>(
  'payments/detach-checkouts',
  `WITH detached AS (
  UPDATE checkouts SET project_id = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM checkouts WHERE project_id = $1 LIMIT $2)) RETURNING 1
)
SELECT count(*)::int AS n FROM detached`,
  ['project_id', 'limit'],
)
export interface DetachCheckoutsRow {
  n: number
}

/**
 * Detaches a batch of disputes from a project.
 * @see prisma/sql/payments/detach-disputes.sql
 */
export const detachDisputes = one<{ project_id: string; limit: number }, DetachDisputesRow>(
  'payments/detach-disputes',
  `WITH detached AS (
  UPDATE disputes SET project_id = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM disputes WHERE project_id = $1 LIMIT $2)) RETURNING 1
)
SELECT count(*)::int AS n FROM detached`,
  ['project_id', 'limit'],
)
export interface DetachDisputesRow {
  n: number
}

/**
 * Detaches a batch of orders from a project.
 * @see prisma/sql/payments/detach-orders.sql
 */
export const detachOrders = one<{ project_id: string; limit: number }, DetachOrdersRow>(
  'payments/detach-orders',
  `WITH detached AS (
  UPDATE orders SET project_id = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM orders WHERE project_id = $1 LIMIT $2)) RETURNING 1
)
SELECT count(*)::int AS n FROM detached`,
  ['project_id', 'limit'],
)
export interface DetachOrdersRow {
  n: number
}

/**
 * Detaches a batch of payments from a project.
 * @see prisma/sql/payments/detach-payments.sql
 */
export const detachPayments = one<{ project_id: string; limit: number }, DetachPaymentsRow>(
  'payments/detach-payments',
  `WITH detached AS (
  UPDATE payments SET project_id = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM payments WHERE project_id = $1 LIMIT $2)) RETURNING 1
)
SELECT count(*)::int AS n FROM detached`,
  ['project_id', 'limit'],
)
export interface DetachPaymentsRow {
  n: number
}

/**
 * Detaches a batch of refunds from a project.
 * @see prisma/sql/payments/detach-refunds.sql
 */
export const detachRefunds = one<{ project_id: string; limit: number }, DetachRefundsRow>(
  'payments/detach-refunds',
  `WITH detached AS (
  UPDATE refunds SET project_id = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM refunds WHERE project_id = $1 LIMIT $2)) RETURNING 1
)
SELECT count(*)::int AS n FROM detached`,
  ['project_id', 'limit'],
)
export interface DetachRefundsRow {
  n: number
}

/**
 * Detaches a batch of subscriptions from a project.
 * @see prisma/sql/payments/detach-subscriptions.sql
 */
export const detachSubscriptions = one<{ project_id: string; limit: number }, DetachSubscriptionsRow>(
  'payments/detach-subscriptions',
  `WITH detached AS (
  UPDATE subscriptions SET project_id = NULL
  WHERE id = ANY(ARRAY(SELECT id FROM subscriptions WHERE project_id = $1 LIMIT $2)) RETURNING 1
)
SELECT count(*)::int AS n FROM detached`,
  ['project_id', 'limit'],
)
export interface DetachSubscriptionsRow {
  n: number
}

/**
 * Fails the payment attempts of a closed checkout session that wait for a confirmation.
 * @see prisma/sql/payments/fail-unconfirmed-payments.sql
 */
export const failUnconfirmedPayments = none<{ at: Date | string; checkout_id: string }>(
  'payments/fail-unconfirmed-payments',
  `UPDATE payments SET status = 'failed', failure_code = 'expired', due_at = NULL, updated_at = $1
WHERE checkout_id = $2 AND status = 'requires_confirmation'`,
  ['at', 'checkout_id'],
)

/**
 * The credit of a customer.
 * @see prisma/sql/payments/find-balance.sql
 */
export const findBalance = optional<{ customer_id: string; currency: string }, FindBalanceRow>(
  'payments/find-balance',
  `SELECT amount FROM customer_balances WHERE customer_id = $1 AND currency = $2`,
  ['customer_id', 'currency'],
  { reads: true },
)
export interface FindBalanceRow {
  amount: number
}

/**
 * The charge of an order that has no outcome yet.
 * @see prisma/sql/payments/find-charge-in-progress.sql
 */
export const findChargeInProgress = optional<{ order_id: string }, FindChargeInProgressRow>(
  'payments/find-charge-in-progress',
  `SELECT id FROM payments WHERE order_id = $1 AND status = 'processing' AND checkout_id IS NULL LIMIT 1`,
  ['order_id'],
  { reads: true },
)
export interface FindChargeInProgressRow {
  id: string
}

/**
 * A charge of a stored card.
 * @see prisma/sql/payments/find-charge.sql
 */
export const findCharge = optional<{ id: string; gateway: string }, FindChargeRow>(
  'payments/find-charge',
  `SELECT order_id, amount, currency FROM payments WHERE id = $1 AND gateway = $2 AND checkout_id IS NULL`,
  ['id', 'gateway'],
  { reads: true },
)
export interface FindChargeRow {
  order_id: string
  amount: number
  currency: string
}

/**
 * The card that a subscription is charged to: the default of its customer at the gateway. Earlier versions
 * stored the card of the sandbox with the subscription only.
 * @see prisma/sql/payments/find-charged-card.sql
 */
export const findChargedCard = optional<{ customer_id: string; gateway: string; subscription_id: string }, FindChargedCardRow>(
  'payments/find-charged-card',
  `SELECT brand AS "brand", last4 AS "last4", renews AS "renews", reference FROM (
  (SELECT 1 AS rank, m.brand, m.last4, m.renews, m.gateway_reference AS reference
   FROM payment_methods m WHERE m.customer_id = $1 AND m.gateway = $2
   ORDER BY m.chosen_at DESC, m.id DESC LIMIT 1)
  UNION ALL
  (SELECT 2, s.card->>'brand', s.card->>'last4', (s.card->>'renews')::boolean, NULL
   FROM subscriptions s WHERE s.id = $3 AND s.card IS NOT NULL AND $2 = 'sandbox')
) cards ORDER BY rank LIMIT 1`,
  ['customer_id', 'gateway', 'subscription_id'],
  { reads: true },
)
export interface FindChargedCardRow {
  brand: string
  last4: string
  renews: boolean
  reference: string | null
}

/**
 * A checkout session with its owner, without authorization.
 * @see prisma/sql/payments/find-checkout.sql
 */
export const findCheckout = optional<{ id: string }, FindCheckoutRow>(
  'payments/find-checkout',
  `SELECT c.id, c.owner_id AS user_id, c.customer_id AS "customer_id", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url, c.project_id, coalesce(c.owner_id, c.customer_id) AS "owner_id"
FROM checkouts c
WHERE c.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindCheckoutRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  url: string
  mode: 'payment' | 'subscription'
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  order_id: string
  subscription_id: string | null
  total_amount: number
  currency: Schemas['Currency']
  success_url: string
  cancel_url: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
  project_id: string | null
  owner_id: string
}

/**
 * A dispute by the gateway's id of it.
 * @see prisma/sql/payments/find-dispute-by-reference.sql
 */
export const findDisputeByReference = optional<{ gateway_reference: string }, FindDisputeByReferenceRow>(
  'payments/find-dispute-by-reference',
  `SELECT d.id, d.order_id, d.payment_id, d.owner_id AS user_id, d.seller_organization_id, d.amount, d.currency,
d.reason, d.status, d.evidence_due_at, d.created_at, d.updated_at, d.project_id, d.synced_at
FROM disputes d
WHERE d.gateway_reference = $1`,
  ['gateway_reference'],
  { reads: true },
)
export interface FindDisputeByReferenceRow {
  id: string
  order_id: string
  payment_id: string
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  reason: string
  status: 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review'
  evidence_due_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  synced_at: string | null
}

/**
 * The time, if a checkout session is due to expire.
 * @see prisma/sql/payments/find-due-checkout.sql
 */
export const findDueCheckout = optional<{ id: string }, FindDueCheckoutRow>(
  'payments/find-due-checkout',
  `SELECT payments_now() AS "now" FROM checkouts c
WHERE c.id = $1 AND c.status = 'open' AND c.gateway_reference IS NULL
AND NOT EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'processing') AND c.expires_at <= payments_now()`,
  ['id'],
  { reads: true },
)
export interface FindDueCheckoutRow {
  now: string
}

/**
 * A dispute of the sandbox, if it is due to go on. Its order must be locked.
 * @see prisma/sql/payments/find-due-dispute.sql
 */
export const findDueDispute = optional<{ id: string }, FindDueDisputeRow>(
  'payments/find-due-dispute',
  `SELECT d.id, d.order_id, d.payment_id, d.owner_id AS user_id, d.seller_organization_id, d.amount, d.currency,
d.reason, d.status, d.evidence_due_at, d.created_at, d.updated_at, d.project_id
FROM disputes d
WHERE d.id = $1 AND d.due_at <= payments_now()`,
  ['id'],
  { reads: true },
)
export interface FindDueDisputeRow {
  id: string
  order_id: string
  payment_id: string
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  reason: string
  status: 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review'
  evidence_due_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * A slow payment, if it is due to finish.
 * @see prisma/sql/payments/find-due-payment.sql
 */
export const findDuePayment = optional<{ id: string }, FindDuePaymentRow>(
  'payments/find-due-payment',
  `SELECT p.order_id, p.checkout_id, p.gateway, p.card FROM payments p JOIN orders o ON o.id = p.order_id
WHERE p.id = $1 AND p.due_at <= enter_customer_time(o.customer_id)`,
  ['id'],
)
export interface FindDuePaymentRow {
  order_id: string
  checkout_id: string | null
  gateway: string
  card: { brand: string; last4: string; renews: boolean } | null
}

/**
 * The first task of a customer that is due at :at, or now if that is null, by the customer's time, excluding
 * the ids :except.
 * @see prisma/sql/payments/find-due-task-of-customer.sql
 */
export const findDueTaskOfCustomer = optional<{ customer_id: string; at: Date | string | null; except: readonly string[] }, FindDueTaskOfCustomerRow>(
  'payments/find-due-task-of-customer',
  `SELECT t.kind, t.id, t.at
FROM customers k CROSS JOIN LATERAL (SELECT 1 AS rank, 'payment' AS kind, p.id, p.due_at AS at
FROM orders o JOIN payments p ON p.order_id = o.id AND p.due_at IS NOT NULL
WHERE o.customer_id = k.id
UNION ALL
SELECT 2, 'checkout', c.id, c.expires_at FROM checkouts c WHERE c.customer_id = k.id AND c.status = 'open' AND c.gateway_reference IS NULL
AND NOT EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'processing')
UNION ALL
SELECT 3, 'subscription', s.id, s.due_at FROM subscriptions s
WHERE s.customer_id = k.id AND s.due_at IS NOT NULL
UNION ALL
SELECT 4, 'dispute', d.id, d.due_at
FROM orders o JOIN disputes d ON d.order_id = o.id AND d.due_at IS NOT NULL
WHERE o.customer_id = k.id) t
WHERE k.id = $1 AND t.at <= coalesce($2, enter_customer_time(k.id)) AND t.id <> ALL($3)
ORDER BY t.at, t.rank, t.id LIMIT 1`,
  ['customer_id', 'at', 'except'],
)
export interface FindDueTaskOfCustomerRow {
  kind: 'payment' | 'checkout' | 'subscription' | 'dispute'
  id: string
  at: string
}

/**
 * The first task that is due at :at, or now if that is null, excluding the ids :except. Each kind is found by
 * an index. Those of a customer whose clock is ahead are due earlier.
 * Tasks that are due at the same time run in the order of `rank`.
 * @see prisma/sql/payments/find-due-task.sql
 */
export const findDueTask = optional<{ at: Date | string | null; except: readonly string[] }, FindDueTaskRow>(
  'payments/find-due-task',
  `SELECT kind, id, at FROM (
  (SELECT 1 AS rank, 'payment' AS kind, p.id, p.due_at AS at FROM payments p
   WHERE p.due_at <= coalesce($1, payments_now()) AND p.id <> ALL($2) ORDER BY p.due_at, p.id LIMIT 1)
  UNION ALL
  (SELECT 2, 'checkout', c.id, c.expires_at FROM checkouts c
   WHERE c.status = 'open' AND c.gateway_reference IS NULL
AND NOT EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'processing') AND c.expires_at <= coalesce($1, payments_now()) AND c.id <> ALL($2)
   ORDER BY c.expires_at, c.id LIMIT 1)
  UNION ALL
  (SELECT 3, 'subscription', s.id, s.due_at FROM subscriptions s
   WHERE s.due_at <= coalesce($1, payments_now()) AND s.id <> ALL($2) ORDER BY s.due_at, s.id LIMIT 1)
  UNION ALL
  (SELECT 4, 'dispute', d.id, d.due_at FROM disputes d
   WHERE d.due_at <= coalesce($1, payments_now()) AND d.id <> ALL($2) ORDER BY d.due_at, d.id LIMIT 1)
  UNION ALL
  (SELECT t.rank, t.kind, t.id, t.at - k.clock_offset * interval '1 millisecond'
   FROM customers k CROSS JOIN LATERAL (SELECT 1 AS rank, 'payment' AS kind, p.id, p.due_at AS at
FROM orders o JOIN payments p ON p.order_id = o.id AND p.due_at IS NOT NULL
WHERE o.customer_id = k.id
UNION ALL
SELECT 2, 'checkout', c.id, c.expires_at FROM checkouts c WHERE c.customer_id = k.id AND c.status = 'open' AND c.gateway_reference IS NULL
AND NOT EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'processing')
UNION ALL
SELECT 3, 'subscription', s.id, s.due_at FROM subscriptions s
WHERE s.customer_id = k.id AND s.due_at IS NOT NULL
UNION ALL
SELECT 4, 'dispute', d.id, d.due_at
FROM orders o JOIN disputes d ON d.order_id = o.id AND d.due_at IS NOT NULL
WHERE o.customer_id = k.id) t
   WHERE k.clock_offset > 0 AND k.deleted_at IS NULL
     AND t.at <= coalesce($1, payments_now()) + k.clock_offset * interval '1 millisecond'
     AND t.id <> ALL($2)
   ORDER BY 4, t.rank, t.id LIMIT 1)
) due
ORDER BY at, rank LIMIT 1`,
  ['at', 'except'],
  { reads: true },
)
export interface FindDueTaskRow {
  kind: 'payment' | 'checkout' | 'subscription' | 'dispute'
  id: string
  at: string
}

/**
 * The gateway's id of a customer.
 * @see prisma/sql/payments/find-gateway-customer.sql
 */
export const findGatewayCustomer = optional<{ customer_id: string; gateway: string }, FindGatewayCustomerRow>(
  'payments/find-gateway-customer',
  `SELECT gateway_reference AS reference FROM gateway_customers
WHERE customer_id = $1 AND gateway = $2`,
  ['customer_id', 'gateway'],
  { reads: true },
)
export interface FindGatewayCustomerRow {
  reference: string
}

/**
 * A webhook event, if it was processed.
 * @see prisma/sql/payments/find-gateway-event.sql
 */
export const findGatewayEvent = optional<{ id: string }, FindGatewayEventRow>(
  'payments/find-gateway-event',
  `SELECT id FROM gateway_events WHERE id = $1`,
  ['id'],
  { reads: true },
)
export interface FindGatewayEventRow {
  id: string
}

/**
 * A checkout session, if it has a session at its gateway.
 * @see prisma/sql/payments/find-gateway-session.sql
 */
export const findGatewaySession = optional<{ id: string }, FindGatewaySessionRow>(
  'payments/find-gateway-session',
  `SELECT id FROM checkouts WHERE id = $1 AND gateway_reference IS NOT NULL`,
  ['id'],
  { reads: true },
)
export interface FindGatewaySessionRow {
  id: string
}

/**
 * A late payment that is not refunded yet, with the gateway's id of it.
 * @see prisma/sql/payments/find-late-payment.sql
 */
export const findLatePayment = optional<{ id: string }, FindLatePaymentRow>(
  'payments/find-late-payment',
  `SELECT order_id, gateway_reference AS "payment" FROM payments WHERE id = $1 AND status = 'returning'`,
  ['id'],
  { reads: true },
)
export interface FindLatePaymentRow {
  order_id: string
  payment: string
}

/**
 * The latest payment attempt of a checkout session.
 * An active attempt comes first: of two simultaneous attempts the active one may have the earlier id.
 * Superseded attempts do not count.
 * @see prisma/sql/payments/find-latest-attempt.sql
 */
export const findLatestAttempt = optional<{ checkout_id: string }, FindLatestAttemptRow>(
  'payments/find-latest-attempt',
  `SELECT id, status, failure_code, card FROM payments
WHERE checkout_id = $1 AND failure_code IS DISTINCT FROM 'superseded'
ORDER BY status IN ('processing', 'requires_confirmation') DESC, id DESC LIMIT 1`,
  ['checkout_id'],
  { reads: true },
)
export interface FindLatestAttemptRow {
  id: string
  status: 'requires_confirmation' | 'processing' | 'succeeded' | 'failed' | 'returning' | 'returned'
  failure_code: string | null
  card: { brand: string; last4: string; renews: boolean } | null
}

/**
 * The order of a refund.
 * @see prisma/sql/payments/find-order-of-refund.sql
 */
export const findOrderOfRefund = optional<{ id: string }, FindOrderOfRefundRow>(
  'payments/find-order-of-refund',
  `SELECT order_id FROM refunds WHERE id = $1`,
  ['id'],
  { reads: true },
)
export interface FindOrderOfRefundRow {
  order_id: string
}

/**
 * An order with its owner, without authorization.
 * @see prisma/sql/payments/find-order.sql
 */
export const findOrder = optional<{ id: string }, FindOrderRow>(
  'payments/find-order',
  `SELECT o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id, coalesce(o.owner_id, o.customer_id) AS "owner_id"
FROM orders o
WHERE o.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindOrderRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * A payment by the gateway's id of it.
 * @see prisma/sql/payments/find-payment-by-reference.sql
 */
export const findPaymentByReference = optional<{ gateway: string; gateway_reference: string }, FindPaymentByReferenceRow>(
  'payments/find-payment-by-reference',
  `SELECT id, order_id, status FROM payments
WHERE gateway = $1 AND gateway_reference = $2`,
  ['gateway', 'gateway_reference'],
  { reads: true },
)
export interface FindPaymentByReferenceRow {
  id: string
  order_id: string
  status: 'requires_confirmation' | 'processing' | 'succeeded' | 'failed' | 'returning' | 'returned'
}

/**
 * A payment method of a customer.
 * @see prisma/sql/payments/find-payment-method.sql
 */
export const findPaymentMethod = optional<{ customer_id: string; id: string }, FindPaymentMethodRow>(
  'payments/find-payment-method',
  `SELECT t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
jsonb_build_object('brand', t.brand, 'last4', t.last4, 'exp_month', t.exp_month,
  'exp_year', t.exp_year) AS "card",
NOT EXISTS (SELECT FROM payment_methods o WHERE o.customer_id = t.customer_id
  AND (o.chosen_at, o.id) > (t.chosen_at, t.id)) AS "is_default",
t.created_at, t.updated_at
FROM payment_methods t
WHERE t.customer_id = $1 AND t.id = $2`,
  ['customer_id', 'id'],
  { reads: true },
)
export interface FindPaymentMethodRow {
  id: string
  customer_id: string
  seller_organization_id: string | null
  card: Schemas['StoredCard']
  is_default: boolean
  created_at: string
  updated_at: string
}

/**
 * A charge of a stored card that has no outcome yet, with the gateway's ids of it and of its customer.
 * @see prisma/sql/payments/find-pending-charge.sql
 */
export const findPendingCharge = optional<{ id: string; gateway: string }, FindPendingChargeRow>(
  'payments/find-pending-charge',
  `SELECT p.order_id, p.amount, p.currency, p.gateway_reference AS reference, o.subscription_id,
  o.status = 'pending' AS "payable", g.gateway_reference AS "customer"
FROM payments p JOIN orders o ON o.id = p.order_id
LEFT JOIN gateway_customers g ON g.customer_id = o.customer_id AND g.gateway = p.gateway
WHERE p.id = $1 AND p.gateway = $2 AND p.status = 'processing' AND p.checkout_id IS NULL`,
  ['id', 'gateway'],
  { reads: true },
)
export interface FindPendingChargeRow {
  order_id: string
  amount: number
  currency: string
  reference: string | null
  subscription_id: string | null
  payable: boolean
  customer: string | null
}

/**
 * A pending refund, with the gateway's ids of the refund and of its payment.
 * @see prisma/sql/payments/find-pending-refund.sql
 */
export const findPendingRefund = optional<{ id: string }, FindPendingRefundRow>(
  'payments/find-pending-refund',
  `SELECT r.order_id, r.amount, r.currency, r.gateway_reference AS reference, p.gateway_reference AS "payment"
FROM refunds r JOIN payments p ON p.id = r.payment_id
WHERE r.id = $1 AND r.status = 'pending'`,
  ['id'],
  { reads: true },
)
export interface FindPendingRefundRow {
  order_id: string
  amount: number
  currency: string
  reference: string | null
  payment: string
}

/**
 * The caller's access to a refund.
 * @see prisma/sql/payments/find-refund-access.sql
 */
export const findRefundAccess = optional<{ user_id: string; id: string }, FindRefundAccessRow>(
  'payments/find-refund-access',
  `SELECT r.seller_organization_id, r.project_id, r.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = r.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = r.project_id) AS project_status
FROM refunds r
WHERE r.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface FindRefundAccessRow {
  seller_organization_id: string | null
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The status of a refund, or of a payment that is refunded because it was late.
 * @see prisma/sql/payments/find-refund-status.sql
 */
export const findRefundStatus = optional<{ id: string }, FindRefundStatusRow>(
  'payments/find-refund-status',
  `SELECT status::text FROM refunds WHERE id = $1 UNION ALL SELECT status::text FROM payments WHERE id = $1`,
  ['id'],
  { reads: true },
)
export interface FindRefundStatusRow {
  status: string
}

/**
 * A refund of an order.
 * @see prisma/sql/payments/find-refund.sql
 */
export const findRefund = optional<{ order_id: string; id: string }, FindRefundRow>(
  'payments/find-refund',
  `SELECT r.id, r.order_id, r.project_id, r.owner_id AS user_id, r.seller_organization_id, r.amount, r.currency,
r.status, r.reason, r.metadata, r.created_at, r.updated_at
FROM refunds r
WHERE r.order_id = $1 AND r.id = $2`,
  ['order_id', 'id'],
  { reads: true },
)
export interface FindRefundRow {
  id: string
  order_id: string
  project_id: string | null
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  status: 'pending' | 'succeeded' | 'failed'
  reason: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * The time since which a subscription may have new invoices at its gateway, in seconds; null before its first
 * period.
 * One period and one day before the known period: Stripe creates an invoice at the start of its period.
 * @see prisma/sql/payments/find-start-of-new-invoices.sql
 */
export const findStartOfNewInvoices = optional<{ gateway_reference: string }, FindStartOfNewInvoicesRow>(
  'payments/find-start-of-new-invoices',
  `SELECT floor(extract(epoch
  FROM period_start - (period_end - period_start) - interval '1 day'))::bigint AS since
FROM subscriptions
WHERE gateway_reference = $1`,
  ['gateway_reference'],
  { reads: true },
)
export interface FindStartOfNewInvoicesRow {
  since: number | null
}

/**
 * The payment method of a customer with this card.
 * @see prisma/sql/payments/find-stored-card.sql
 */
export const findStoredCard = optional<{ customer_id: string; gateway: string; fingerprint: string }, FindStoredCardRow>(
  'payments/find-stored-card',
  `SELECT t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
jsonb_build_object('brand', t.brand, 'last4', t.last4, 'exp_month', t.exp_month,
  'exp_year', t.exp_year) AS "card",
NOT EXISTS (SELECT FROM payment_methods o WHERE o.customer_id = t.customer_id
  AND (o.chosen_at, o.id) > (t.chosen_at, t.id)) AS "is_default",
t.created_at, t.updated_at
FROM payment_methods t
WHERE t.customer_id = $1 AND t.gateway = $2 AND t.fingerprint = $3`,
  ['customer_id', 'gateway', 'fingerprint'],
  { reads: true },
)
export interface FindStoredCardRow {
  id: string
  customer_id: string
  seller_organization_id: string | null
  card: Schemas['StoredCard']
  is_default: boolean
  created_at: string
  updated_at: string
}

/**
 * A subscription with its owner, without authorization.
 * @see prisma/sql/payments/find-subscription.sql
 */
export const findSubscription = optional<{ id: string }, FindSubscriptionRow>(
  'payments/find-subscription',
  `SELECT s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"
FROM subscriptions s
WHERE s.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindSubscriptionRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * A subscription, if the state of exactly this time was applied last.
 * @see prisma/sql/payments/find-synced.sql
 */
export const findSynced = optional<{ id: string; synced_at: Date | string }, FindSyncedRow>(
  'payments/find-synced',
  `SELECT id FROM subscriptions WHERE id = $1 AND synced_at = $2 AND NOT sync_pending`,
  ['id', 'synced_at'],
  { reads: true },
)
export interface FindSyncedRow {
  id: string
}

/**
 * A refund, if the gateway does not know it.
 * @see prisma/sql/payments/find-unsent-refund.sql
 */
export const findUnsentRefund = optional<{ id: string }, FindUnsentRefundRow>(
  'payments/find-unsent-refund',
  `SELECT id FROM refunds WHERE id = $1 AND gateway_reference IS NULL`,
  ['id'],
  { reads: true },
)
export interface FindUnsentRefundRow {
  id: string
}

/**
 * Removes a card from the subscriptions of a customer.
 * @see prisma/sql/payments/forget-card.sql
 */
export const forgetCard = none<{ customer_id: string; brand: string; last4: string }>(
  'payments/forget-card',
  `UPDATE subscriptions SET card = NULL
WHERE customer_id = $1 AND card->>'brand' = $2 AND card->>'last4' = $3`,
  ['customer_id', 'brand', 'last4'],
)

/**
 * Inserts an open checkout session, which becomes the latest one of its order.
 * @see prisma/sql/payments/insert-checkout.sql
 */
export const insertCheckout = one<{ id: string; project_id: string | null; owner_id: string; mode: 'payment' | 'subscription'; order_id: string; owns_order: boolean; subscription_id: string | null; total_amount: number; currency: string; url: string; success_url: string; cancel_url: string; gateway: string; metadata: object | string; expires_at: Date | string; created_at: Date | string }, InsertCheckoutRow>(
  'payments/insert-checkout',
  `WITH c AS (
  INSERT INTO checkouts (id, project_id, owner_id, mode, order_id, owns_order, subscription_id, total_amount,
    currency, url, success_url, cancel_url, gateway, metadata, expires_at, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
    $9, $10, $11, $12, $13, $14, $15, $16)
  RETURNING *
), ordered AS (UPDATE orders SET checkout_id = $1 WHERE id = $5)
SELECT c.id, c.owner_id AS user_id, c.customer_id AS "customer_id", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url, c.project_id, coalesce(c.owner_id, c.customer_id) AS "owner_id" FROM c`,
  ['id', 'project_id', 'owner_id', 'mode', 'order_id', 'owns_order', 'subscription_id', 'total_amount', 'currency', 'url', 'success_url', 'cancel_url', 'gateway', 'metadata', 'expires_at', 'created_at'],
)
export interface InsertCheckoutRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  url: string
  mode: 'payment' | 'subscription'
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  order_id: string
  subscription_id: string | null
  total_amount: number
  currency: Schemas['Currency']
  success_url: string
  cancel_url: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
  project_id: string | null
  owner_id: string
}

/**
 * Inserts a dispute of a payment, for the owner, the seller and the project of the payment.
 * @see prisma/sql/payments/insert-dispute.sql
 */
export const insertDispute = one<{ id: string; status: 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review'; amount: number; currency: string; reason: string; evidence_due_at: Date | string | null; gateway_reference: string | null; synced_at: Date | string | null; due_at: Date | string | null; created_at: Date | string; payment_id: string }, InsertDisputeRow>(
  'payments/insert-dispute',
  `INSERT INTO disputes AS d (id, order_id, project_id, owner_id, seller_organization_id, payment_id, status,
  amount, currency, reason, evidence_due_at, gateway_reference, synced_at, due_at, created_at, updated_at)
SELECT $1, p.order_id, p.project_id, p.owner_id, p.seller_organization_id, p.id,
  $2, $3, $4, $5,
  $6, $7, $8, $9, $10, $10
FROM payments p WHERE p.id = $11
RETURNING d.id, d.order_id, d.payment_id, d.owner_id AS user_id, d.seller_organization_id, d.amount, d.currency,
d.reason, d.status, d.evidence_due_at, d.created_at, d.updated_at, d.project_id`,
  ['id', 'status', 'amount', 'currency', 'reason', 'evidence_due_at', 'gateway_reference', 'synced_at', 'due_at', 'created_at', 'payment_id'],
)
export interface InsertDisputeRow {
  id: string
  order_id: string
  payment_id: string
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  reason: string
  status: 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review'
  evidence_due_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Stores the gateway's id of a customer that has none.
 * @see prisma/sql/payments/insert-gateway-customer.sql
 */
export const insertGatewayCustomer = none<{ customer_id: string; gateway: string; reference: string }>(
  'payments/insert-gateway-customer',
  `INSERT INTO gateway_customers (customer_id, gateway, gateway_reference)
VALUES ($1, $2, $3)
ON CONFLICT DO NOTHING`,
  ['customer_id', 'gateway', 'reference'],
)

/**
 * Records a processed webhook event. No row if it was recorded before.
 * @see prisma/sql/payments/insert-gateway-event.sql
 */
export const insertGatewayEvent = optional<{ id: string; type: string }, InsertGatewayEventRow>(
  'payments/insert-gateway-event',
  `INSERT INTO gateway_events (id, type) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING id`,
  ['id', 'type'],
)
export interface InsertGatewayEventRow {
  id: string
}

/**
 * Inserts an order with its items.
 * @see prisma/sql/payments/insert-order.sql
 */
export const insertOrder = one<{ id: string; number: string; project_id: string | null; owner_id: string; currency: string; credit: number; total: number; subscription_id: string | null; period: number | null; metadata: object | string; created_by: string | null; created_at: Date | string; price_ids: readonly string[]; descriptions: readonly string[]; quantities: readonly number[]; unit_amounts: readonly number[]; usages: readonly (string | null)[] }, InsertOrderRow>(
  'payments/insert-order',
  `WITH o AS (
  INSERT INTO orders (id, number, project_id, owner_id, workspace_id, currency, credit_amount, total_amount,
    subscription_id, period, metadata, created_by, created_at, updated_at)
  VALUES ($1, $2, $3, $4, coalesce($3, $4), $5, $6,
    $7, $8, $9, $10, $11, $12, $12)
  RETURNING *
), i AS (
  INSERT INTO order_items (order_id, position, price_id, description, quantity, unit_amount, amount, usage)
  SELECT $1, line.position, line.price_id, line.description, line.quantity, line.unit_amount,
    line.quantity * line.unit_amount, line.usage::jsonb
  FROM unnest($13::text[], $14::text[], $15::int[], $16::bigint[],
      $17::text[])
    WITH ORDINALITY AS line (price_id, description, quantity, unit_amount, usage, position)
  RETURNING *
)
SELECT o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM i i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id, coalesce(o.owner_id, o.customer_id) AS "owner_id" FROM o`,
  ['id', 'number', 'project_id', 'owner_id', 'currency', 'credit', 'total', 'subscription_id', 'period', 'metadata', 'created_by', 'created_at', 'price_ids', 'descriptions', 'quantities', 'unit_amounts', 'usages'],
)
export interface InsertOrderRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Inserts a payment attempt. No row if the gateway's reference was recorded before.
 * @see prisma/sql/payments/insert-payment.sql
 */
export const insertPayment = optional<{ id: string; order_id: string; checkout_id: string | null; status: 'requires_confirmation' | 'processing' | 'succeeded' | 'failed' | 'returning' | 'returned'; amount: number; currency: string; gateway: string; gateway_reference: string | null; card: object | string | null; failure_code: string | null; due_at: Date | string | null; at: Date | string }, InsertPaymentRow>(
  'payments/insert-payment',
  `INSERT INTO payments (id, order_id, checkout_id, status, amount, currency, gateway, gateway_reference, card,
  failure_code, due_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
  $10, $11, $12, $12)
ON CONFLICT (gateway, gateway_reference) DO NOTHING RETURNING id`,
  ['id', 'order_id', 'checkout_id', 'status', 'amount', 'currency', 'gateway', 'gateway_reference', 'card', 'failure_code', 'due_at', 'at'],
)
export interface InsertPaymentRow {
  id: string
}

/**
 * Inserts a pending refund of an order, for the owner, the seller and the project of the order.
 * @see prisma/sql/payments/insert-refund.sql
 */
export const insertRefund = none<{ id: string; payment_id: string; amount: number; currency: string; reason: string | null; metadata: object | string; created_at: Date | string; order_id: string }>(
  'payments/insert-refund',
  `INSERT INTO refunds (id, order_id, project_id, owner_id, seller_organization_id, payment_id, amount, currency,
  reason, metadata, created_at, updated_at)
SELECT $1, o.id, o.project_id, o.owner_id, o.seller_organization_id, $2, $3, $4,
  $5, $6, $7, $7
FROM orders o WHERE o.id = $8`,
  ['id', 'payment_id', 'amount', 'currency', 'reason', 'metadata', 'created_at', 'order_id'],
)

/**
 * Inserts an incomplete subscription, whose first order is inserted next.
 * @see prisma/sql/payments/insert-subscription.sql
 */
export const insertSubscription = one<{ id: string; latest_order_id: string; project_id: string | null; owner_id: string; price_id: string; quantity: number; items: object | string | null; trial_end: Date | string | null; due_at: Date | string | null; gateway: string; metadata: object | string; created_at: Date | string }, InsertSubscriptionRow>(
  'payments/insert-subscription',
  `INSERT INTO subscriptions AS s (id, latest_order_id, project_id, owner_id, workspace_id, price_id, quantity,
  items, trial_end, due_at, gateway, metadata, created_at)
VALUES ($1, $2, $3, $4, coalesce($3, $4), $5,
  $6, $7, $8, $9, $10, $11, $12)
RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['id', 'latest_order_id', 'project_id', 'owner_id', 'price_id', 'quantity', 'items', 'trial_end', 'due_at', 'gateway', 'metadata', 'created_at'],
)
export interface InsertSubscriptionRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Records the trial of a product. No row if the customer had one.
 * @see prisma/sql/payments/insert-trial.sql
 */
export const insertTrial = optional<{ customer_id: string; product_id: string; subscription_id: string; created_at: Date | string }, InsertTrialRow>(
  'payments/insert-trial',
  `INSERT INTO trials (customer_id, product_id, subscription_id, created_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING product_id`,
  ['customer_id', 'product_id', 'subscription_id', 'created_at'],
)
export interface InsertTrialRow {
  product_id: string
}

/**
 * Refunds. Without a filter: all refunds of the operator, for operators.
 * @see prisma/sql/payments/list-all-refunds.sql
 */
export const listAllRefunds = page<{}, { workspace_id: string; organization_id: string; seller_organization_id: string; user_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('pending' | 'succeeded' | 'failed')[]; order_id: string }, 'created_at' | 'amount' | 'updated_at', ListAllRefundsRow>(
  'payments/list-all-refunds',
  {
    select: `SELECT r.id, r.order_id, r.project_id, r.owner_id AS user_id, r.seller_organization_id, r.amount, r.currency,
r.status, r.reason, r.metadata, r.created_at, r.updated_at
FROM refunds r
WHERE true`,
    names: ['workspace_id', 'organization_id', 'seller_organization_id', 'user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'order_id'],
    filters: {
      workspace_id: { sql: `coalesce(r.project_id, r.owner_id) = $1` },
      organization_id: { sql: `r.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = $2)`, searches: true },
      seller_organization_id: { sql: `r.seller_organization_id = $3`, otherwise: `r.seller_organization_id IS NULL` },
      user_id: { sql: `r.owner_id = $4` },
      created_after: { sql: `r.id >= id_at('ref', $5)`, searches: true },
      created_before: { sql: `r.id < id_at('ref', $6)`, searches: true },
      updated_after: { sql: `r.updated_at >= $7`, searches: true },
      updated_before: { sql: `r.updated_at < $8`, searches: true },
      metadata: { sql: `r.metadata <> '{}' AND r.metadata @> $9::jsonb`, searches: true },
      status: { sql: `r.status = ANY($10)` },
      order_id: { sql: `r.order_id = $11` },
    },
    sorts: {
      created_at: `r.id`,
      amount: `r.amount`,
      updated_at: `r.updated_at`,
    },
    id: `r.id`,
    totals: {
      '': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'refunds' AND seller IS NULL`,
      'status': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'refunds' AND seller IS NULL AND status = ANY($10::"RefundStatus"[]::text[])`,
      'seller_organization_id': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts
WHERE kind = 'refunds' AND seller = $3`,
    },
  },
)
export interface ListAllRefundsRow {
  id: string
  order_id: string
  project_id: string | null
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  status: 'pending' | 'succeeded' | 'failed'
  reason: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * Checkout sessions. Without a filter: all sessions of the operator, for operators.
 * @see prisma/sql/payments/list-checkouts.sql
 */
export const listCheckouts = page<{}, { workspace_id: string; organization_id: string; seller_organization_id: string; user_id: string; customer_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('open' | 'complete' | 'expired')[]; order_id: string }, 'created_at' | 'expires_at' | 'updated_at', ListCheckoutsRow>(
  'payments/list-checkouts',
  {
    select: `SELECT c.id, c.owner_id AS user_id, c.customer_id AS "customer_id", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.project_id
FROM checkouts c
WHERE true`,
    names: ['workspace_id', 'organization_id', 'seller_organization_id', 'user_id', 'customer_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'order_id'],
    filters: {
      workspace_id: { sql: `coalesce(c.project_id, c.owner_id) = $1` },
      organization_id: { sql: `c.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = $2)`, searches: true },
      seller_organization_id: { sql: `c.seller_organization_id = $3`, otherwise: `c.seller_organization_id IS NULL` },
      user_id: { sql: `c.owner_id = $4` },
      customer_id: { sql: `c.customer_id = $5` },
      created_after: { sql: `c.id >= id_at('chk', $6)`, searches: true },
      created_before: { sql: `c.id < id_at('chk', $7)`, searches: true },
      updated_after: { sql: `c.updated_at >= $8`, searches: true },
      updated_before: { sql: `c.updated_at < $9`, searches: true },
      metadata: { sql: `c.metadata <> '{}' AND c.metadata @> $10::jsonb`, searches: true },
      status: { sql: `c.status = ANY($11)` },
      order_id: { sql: `c.order_id = $12` },
    },
    sorts: {
      created_at: `c.id`,
      expires_at: `c.expires_at`,
      updated_at: `c.updated_at`,
    },
    id: `c.id`,
    totals: {
      '': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'checkouts' AND seller IS NULL`,
      'status': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'checkouts' AND seller IS NULL AND status = ANY($11::"CheckoutStatus"[]::text[])`,
      'seller_organization_id': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts
WHERE kind = 'checkouts' AND seller = $3`,
    },
  },
)
export interface ListCheckoutsRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  url: string
  mode: 'payment' | 'subscription'
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  order_id: string
  subscription_id: string | null
  total_amount: number
  currency: Schemas['Currency']
  success_url: string
  cancel_url: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Disputes. Without a filter: all disputes of the operator, for operators.
 * @see prisma/sql/payments/list-disputes.sql
 */
export const listDisputes = page<{}, { workspace_id: string; organization_id: string; seller_organization_id: string; user_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; status: readonly ('needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review')[]; order_id: string; payment_id: string }, 'created_at' | 'updated_at', ListDisputesRow>(
  'payments/list-disputes',
  {
    select: `SELECT d.id, d.order_id, d.payment_id, d.owner_id AS user_id, d.seller_organization_id, d.amount, d.currency,
d.reason, d.status, d.evidence_due_at, d.created_at, d.updated_at, d.project_id
FROM disputes d
WHERE true`,
    names: ['workspace_id', 'organization_id', 'seller_organization_id', 'user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'status', 'order_id', 'payment_id'],
    filters: {
      workspace_id: { sql: `coalesce(d.project_id, d.owner_id) = $1` },
      organization_id: { sql: `d.project_id IN (SELECT j.id FROM projects j WHERE j.organization_id = $2)`, searches: true },
      seller_organization_id: { sql: `d.seller_organization_id = $3`, otherwise: `d.seller_organization_id IS NULL` },
      user_id: { sql: `d.owner_id = $4` },
      created_after: { sql: `d.id >= id_at('dp', $5)`, searches: true },
      created_before: { sql: `d.id < id_at('dp', $6)`, searches: true },
      updated_after: { sql: `d.updated_at >= $7`, searches: true },
      updated_before: { sql: `d.updated_at < $8`, searches: true },
      status: { sql: `d.status = ANY($9)` },
      order_id: { sql: `d.order_id = $10` },
      payment_id: { sql: `d.payment_id = $11` },
    },
    sorts: {
      created_at: `d.id`,
      updated_at: `d.updated_at`,
    },
    id: `d.id`,
    totals: {
      '': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'disputes' AND seller IS NULL`,
      'status': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'disputes' AND seller IS NULL AND status = ANY($9::"DisputeStatus"[]::text[])`,
      'seller_organization_id': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts
WHERE kind = 'disputes' AND seller = $3`,
    },
  },
)
export interface ListDisputesRow {
  id: string
  order_id: string
  payment_id: string
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  reason: string
  status: 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review'
  evidence_due_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Orders. Without a filter: all orders of the operator, for operators.
 * @see prisma/sql/payments/list-orders.sql
 */
export const listOrders = page<{}, { workspace_id: string; organization_id: string; seller_organization_id: string; user_id: string; customer_id: string; created_by: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled')[]; subscription_id: string; number: string; price_id: string }, 'created_at' | 'total_amount' | 'updated_at', ListOrdersRow>(
  'payments/list-orders',
  {
    select: `SELECT o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id
FROM orders o
WHERE true`,
    names: ['workspace_id', 'organization_id', 'seller_organization_id', 'user_id', 'customer_id', 'created_by', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'subscription_id', 'number', 'price_id'],
    filters: {
      workspace_id: { sql: `o.workspace_id = $1` },
      organization_id: { sql: `o.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = $2)`, searches: true },
      seller_organization_id: { sql: `o.seller_organization_id = $3`, otherwise: `o.seller_organization_id IS NULL` },
      user_id: { sql: `o.owner_id = $4` },
      customer_id: { sql: `o.customer_id = $5` },
      created_by: { sql: `o.created_by = $6` },
      created_after: { sql: `o.id >= id_at('ord', $7)`, searches: true },
      created_before: { sql: `o.id < id_at('ord', $8)`, searches: true },
      updated_after: { sql: `o.updated_at >= $9`, searches: true },
      updated_before: { sql: `o.updated_at < $10`, searches: true },
      metadata: { sql: `o.metadata <> '{}' AND o.metadata @> $11::jsonb`, searches: true },
      status: { sql: `o.status = ANY($12)` },
      subscription_id: { sql: `o.subscription_id = $13` },
      number: { sql: `o.number = $14` },
      price_id: { sql: `EXISTS (SELECT FROM order_items i WHERE i.order_id = o.id AND i.price_id = $15)`, searches: true },
    },
    sorts: {
      created_at: `o.id`,
      total_amount: `o.total_amount`,
      updated_at: `o.updated_at`,
    },
    id: `o.id`,
    totals: {
      '': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'orders' AND seller IS NULL`,
      'status': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'orders' AND seller IS NULL AND status = ANY($12::"OrderStatus"[]::text[])`,
      'seller_organization_id': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts
WHERE kind = 'orders' AND seller = $3`,
    },
  },
)
export interface ListOrdersRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The payment methods of a customer.
 * @see prisma/sql/payments/list-payment-methods.sql
 */
export const listPaymentMethods = page<{ customer_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string }, 'created_at' | 'updated_at', ListPaymentMethodsRow>(
  'payments/list-payment-methods',
  {
    select: `SELECT t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
jsonb_build_object('brand', t.brand, 'last4', t.last4, 'exp_month', t.exp_month,
  'exp_year', t.exp_year) AS "card",
NOT EXISTS (SELECT FROM payment_methods o WHERE o.customer_id = t.customer_id
  AND (o.chosen_at, o.id) > (t.chosen_at, t.id)) AS "is_default",
t.created_at, t.updated_at
FROM payment_methods t
WHERE t.customer_id = $1`,
    names: ['customer_id', 'created_after', 'created_before', 'updated_after', 'updated_before'],
    filters: {
      created_after: { sql: `t.id >= id_at('pm', $2)`, searches: true },
      created_before: { sql: `t.id < id_at('pm', $3)`, searches: true },
      updated_after: { sql: `t.updated_at >= $4`, searches: true },
      updated_before: { sql: `t.updated_at < $5`, searches: true },
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
export interface ListPaymentMethodsRow {
  id: string
  customer_id: string
  seller_organization_id: string | null
  card: Schemas['StoredCard']
  is_default: boolean
  created_at: string
  updated_at: string
}

/**
 * Payments. Without a filter: all payments of the operator, for operators.
 * @see prisma/sql/payments/list-payments.sql
 */
export const listPayments = page<{}, { workspace_id: string; organization_id: string; seller_organization_id: string; user_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; status: readonly ('requires_confirmation' | 'processing' | 'succeeded' | 'failed' | 'returning' | 'returned')[]; order_id: string; subscription_id: string }, 'created_at' | 'updated_at', ListPaymentsRow>(
  'payments/list-payments',
  {
    select: `SELECT p.id, p.order_id, p.checkout_id, p.subscription_id, p.owner_id AS user_id, p.seller_organization_id,
p.status, p.amount, p.currency, CASE WHEN p.card IS NOT NULL
  THEN jsonb_build_object('brand', p.card->'brand', 'last4', p.card->'last4') END AS card,
p.failure_code, p.created_at, p.updated_at, p.project_id
FROM payments p
WHERE true`,
    names: ['workspace_id', 'organization_id', 'seller_organization_id', 'user_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'status', 'order_id', 'subscription_id'],
    filters: {
      workspace_id: { sql: `coalesce(p.project_id, p.owner_id) = $1` },
      organization_id: { sql: `p.project_id IN (SELECT j.id FROM projects j WHERE j.organization_id = $2)`, searches: true },
      seller_organization_id: { sql: `p.seller_organization_id = $3`, otherwise: `p.seller_organization_id IS NULL` },
      user_id: { sql: `p.owner_id = $4` },
      created_after: { sql: `p.id >= id_at('pay', $5)`, searches: true },
      created_before: { sql: `p.id < id_at('pay', $6)`, searches: true },
      updated_after: { sql: `p.updated_at >= $7`, searches: true },
      updated_before: { sql: `p.updated_at < $8`, searches: true },
      status: { sql: `p.status = ANY($9)` },
      order_id: { sql: `p.order_id = $10` },
      subscription_id: { sql: `p.subscription_id = $11` },
    },
    sorts: {
      created_at: `p.id`,
      updated_at: `p.updated_at`,
    },
    id: `p.id`,
    totals: {
      '': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'payments' AND seller IS NULL`,
      'status': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'payments' AND seller IS NULL AND status = ANY($9::"PaymentStatus"[]::text[])`,
      'seller_organization_id': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts
WHERE kind = 'payments' AND seller = $3`,
    },
  },
)
export interface ListPaymentsRow {
  id: string
  order_id: string
  checkout_id: string | null
  subscription_id: string | null
  user_id: string | null
  seller_organization_id: string | null
  status: 'requires_confirmation' | 'processing' | 'succeeded' | 'failed' | 'returning' | 'returned'
  amount: number
  currency: Schemas['Currency']
  card: Schemas['PaymentCard'] | null
  failure_code: string | null
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The ids of the pending orders of a subscription.
 * @see prisma/sql/payments/list-pending-orders.sql
 */
export const listPendingOrders = many<{ subscription_id: string }, ListPendingOrdersRow>(
  'payments/list-pending-orders',
  `SELECT id FROM orders WHERE subscription_id = $1 AND status = 'pending' ORDER BY id`,
  ['subscription_id'],
  { reads: true },
)
export interface ListPendingOrdersRow {
  id: string
}

/**
 * The refunds of an order.
 * @see prisma/sql/payments/list-refunds.sql
 */
export const listRefunds = page<{ order_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('pending' | 'succeeded' | 'failed')[] }, 'created_at' | 'amount' | 'updated_at', ListRefundsRow>(
  'payments/list-refunds',
  {
    select: `SELECT r.id, r.order_id, r.project_id, r.owner_id AS user_id, r.seller_organization_id, r.amount, r.currency,
r.status, r.reason, r.metadata, r.created_at, r.updated_at
FROM refunds r
WHERE r.order_id = $1`,
    names: ['order_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status'],
    filters: {
      created_after: { sql: `r.id >= id_at('ref', $2)`, searches: true },
      created_before: { sql: `r.id < id_at('ref', $3)`, searches: true },
      updated_after: { sql: `r.updated_at >= $4`, searches: true },
      updated_before: { sql: `r.updated_at < $5`, searches: true },
      metadata: { sql: `r.metadata <> '{}' AND r.metadata @> $6::jsonb`, searches: true },
      status: { sql: `r.status = ANY($7)` },
    },
    sorts: {
      created_at: `r.id`,
      amount: `r.amount`,
      updated_at: `r.updated_at`,
    },
    id: `r.id`,
    totals: {
    },
  },
)
export interface ListRefundsRow {
  id: string
  order_id: string
  project_id: string | null
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  status: 'pending' | 'succeeded' | 'failed'
  reason: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * Subscriptions. Without a filter: all subscriptions of the operator, for operators.
 * @see prisma/sql/payments/list-subscriptions.sql
 */
export const listSubscriptions = page<{}, { workspace_id: string; organization_id: string; seller_organization_id: string; user_id: string; customer_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused')[] }, 'created_at' | 'current_period_end' | 'updated_at', ListSubscriptionsRow>(
  'payments/list-subscriptions',
  {
    select: `SELECT s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.project_id
FROM subscriptions s
WHERE true`,
    names: ['workspace_id', 'organization_id', 'seller_organization_id', 'user_id', 'customer_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status'],
    filters: {
      workspace_id: { sql: `s.workspace_id = $1` },
      organization_id: { sql: `s.project_id IN (SELECT p.id FROM projects p WHERE p.organization_id = $2)`, searches: true },
      seller_organization_id: { sql: `s.seller_organization_id = $3`, otherwise: `s.seller_organization_id IS NULL` },
      user_id: { sql: `s.owner_id = $4` },
      customer_id: { sql: `s.customer_id = $5` },
      created_after: { sql: `s.id >= id_at('sub', $6)`, searches: true },
      created_before: { sql: `s.id < id_at('sub', $7)`, searches: true },
      updated_after: { sql: `s.updated_at >= $8`, searches: true },
      updated_before: { sql: `s.updated_at < $9`, searches: true },
      metadata: { sql: `s.metadata <> '{}' AND s.metadata @> $10::jsonb`, searches: true },
      status: { sql: `s.status = ANY($11)` },
    },
    sorts: {
      created_at: `s.id`,
      current_period_end: `coalesce(s.period_end, 'infinity')`,
      updated_at: `s.updated_at`,
    },
    id: `s.id`,
    totals: {
      '': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'subscriptions' AND seller IS NULL`,
      'status': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts WHERE kind = 'subscriptions' AND seller IS NULL AND status = ANY($11::"SubscriptionStatus"[]::text[])`,
      'seller_organization_id': `SELECT coalesce(sum(count), 0) AS total FROM sales_counts
WHERE kind = 'subscriptions' AND seller = $3`,
    },
  },
)
export interface ListSubscriptionsRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The credit of a customer, locked until the end of the transaction.
 * @see prisma/sql/payments/lock-balance.sql
 */
export const lockBalance = optional<{ customer_id: string; currency: string }, LockBalanceRow>(
  'payments/lock-balance',
  `SELECT amount FROM customer_balances WHERE customer_id = $1 AND currency = $2
FOR NO KEY UPDATE`,
  ['customer_id', 'currency'],
)
export interface LockBalanceRow {
  amount: number
}

/**
 * Locks the number of customers of a seller whose clock is ahead.
 * @see prisma/sql/payments/lock-moved-clocks.sql
 */
export const lockMovedClocks = one<{ customer_id: string }, LockMovedClocksRow>(
  'payments/lock-moved-clocks',
  `SELECT pg_advisory_xact_lock(hashtextextended('customer clocks ' || coalesce(organization_id, ''), 0))::text
  AS locked
FROM customers WHERE id = $1`,
  ['customer_id'],
)
export interface LockMovedClocksRow {
  locked: string | null
}

/**
 * Locks the open checkout session of an order against other writers.
 * @see prisma/sql/payments/lock-open-checkout.sql
 */
export const lockOpenCheckout = optional<{ order_id: string }, LockOpenCheckoutRow>(
  'payments/lock-open-checkout',
  `SELECT c.id, c.owner_id AS user_id, c.customer_id AS "customer_id", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url, c.project_id, coalesce(c.owner_id, c.customer_id) AS "owner_id"
FROM checkouts c
WHERE c.order_id = $1 AND c.status = 'open'
FOR NO KEY UPDATE`,
  ['order_id'],
)
export interface LockOpenCheckoutRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  url: string
  mode: 'payment' | 'subscription'
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  order_id: string
  subscription_id: string | null
  total_amount: number
  currency: Schemas['Currency']
  success_url: string
  cancel_url: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
  project_id: string | null
  owner_id: string
}

/**
 * Like `find-order`, but locks the order against other writers. The transaction has the customer's time.
 * @see prisma/sql/payments/lock-order.sql
 */
export const lockOrder = optional<{ id: string }, LockOrderRow>(
  'payments/lock-order',
  `SELECT o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id, coalesce(o.owner_id, o.customer_id) AS "owner_id"
FROM orders o
WHERE o.id = $1
AND enter_customer_time(o.customer_id) IS NOT NULL
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockOrderRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Locks the subscription of an order against other writers.
 * Reads the subscription's id without a lock: an order never moves to another subscription.
 * @see prisma/sql/payments/lock-subscription-of-order.sql
 */
export const lockSubscriptionOfOrder = optional<{ order_id: string }, LockSubscriptionOfOrderRow>(
  'payments/lock-subscription-of-order',
  `SELECT s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"
FROM subscriptions s
WHERE s.id = (SELECT subscription_id FROM orders WHERE id = $1)
FOR NO KEY UPDATE OF s`,
  ['order_id'],
)
export interface LockSubscriptionOfOrderRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Like `find-subscription`, but locks the subscription against other writers. The transaction has the
 * customer's time.
 * @see prisma/sql/payments/lock-subscription.sql
 */
export const lockSubscription = optional<{ id: string }, LockSubscriptionRow>(
  'payments/lock-subscription',
  `SELECT s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"
FROM subscriptions s
WHERE s.id = $1
AND enter_customer_time(s.customer_id) IS NOT NULL
FOR NO KEY UPDATE`,
  ['id'],
)
export interface LockSubscriptionRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Merges changes of the counts, unless there are only a few, into one row for each kind, seller and status.
 * Returns the number of merged changes.
 * @see prisma/sql/payments/merge-sales-counts.sql
 */
export const mergeSalesCounts = one<{ limit: number }, MergeSalesCountsRow>(
  'payments/merge-sales-counts',
  `WITH changes AS (
  DELETE FROM sales_counts
  WHERE (SELECT count(*) FROM (SELECT FROM sales_counts WHERE NOT merged LIMIT 101) few) > 100
    AND id = ANY(ARRAY(SELECT id FROM sales_counts WHERE NOT merged ORDER BY id LIMIT $1
      FOR UPDATE SKIP LOCKED))
  RETURNING kind, seller, status, count
), sums AS (
  DELETE FROM sales_counts s
  USING (SELECT DISTINCT kind, seller, status FROM changes) c
  WHERE s.merged AND (s.kind, s.status) = (c.kind, c.status) AND s.seller IS NOT DISTINCT FROM c.seller
  RETURNING s.kind, s.seller, s.status, s.count
), inserted AS (
  INSERT INTO sales_counts (kind, seller, status, count, merged)
  SELECT kind, seller, status, sum(count), true
  FROM (SELECT * FROM changes UNION ALL SELECT * FROM sums) r
  GROUP BY kind, seller, status HAVING sum(count) <> 0
)
SELECT count(*)::int AS n FROM changes`,
  ['limit'],
)
export interface MergeSalesCountsRow {
  n: number
}

/**
 * Moves the payment clock forward to a time. Does nothing if the clock is past it.
 * Rounds up, so that a task due at the target time is due once the clock has moved.
 * @see prisma/sql/payments/move-clock.sql
 */
export const moveClock = none<{ to: Date | string }>(
  'payments/move-clock',
  `UPDATE payment_clock SET "offset" =
  greatest("offset", ceil(extract(epoch FROM $1 - clock_timestamp()) * 1000)::bigint)
WHERE id = 1`,
  ['to'],
)

/**
 * Moves the time of a customer forward to a time, like `move-clock`.
 * @see prisma/sql/payments/move-customer-clock.sql
 */
export const moveCustomerClock = none<{ to: Date | string; customer_id: string }>(
  'payments/move-customer-clock',
  `UPDATE customers c SET clock_offset =
  greatest(c.clock_offset, ceil(extract(epoch FROM $1 - clock_timestamp()) * 1000)::bigint - p."offset")
FROM payment_clock p
WHERE c.id = $2`,
  ['to', 'customer_id'],
)

/**
 * Begins to count the usage of the prices of a subscription, at :at. The period of a price that it has no
 * more ends; the next order charges it.
 * @see prisma/sql/payments/open-usage.sql
 */
export const openUsage = none<{ at: Date | string; subscription_id: string; price_ids: readonly string[]; free: boolean }>(
  'payments/open-usage',
  `WITH ended AS (
  UPDATE usage_periods u SET end_at = greatest(u.start_at, $1)
  WHERE u.subscription_id = $2 AND u.end_at IS NULL AND u.price_id <> ALL($3)
)
INSERT INTO usage_periods (subscription_id, price_id, start_at, free)
SELECT $2, p.id, $1, $4
FROM prices p
WHERE p.id = ANY($3) AND p.usage IS NOT NULL
ON CONFLICT (subscription_id, price_id) WHERE end_at IS NULL DO NOTHING`,
  ['at', 'subscription_id', 'price_ids', 'free'],
)

/**
 * Pauses a subscription, until :resumes_at if that is given.
 * @see prisma/sql/payments/pause-subscription.sql
 */
export const pauseSubscription = one<{ at: Date | string; resumes_at: Date | string | null; id: string }, PauseSubscriptionRow>(
  'payments/pause-subscription',
  `UPDATE subscriptions s SET status = 'paused', paused_at = $1, resumes_at = $2, due_at = $2
WHERE id = $3 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['at', 'resumes_at', 'id'],
)
export interface PauseSubscriptionRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Records transfers of the ledger.
 * @see prisma/sql/payments/post-transfers.sql
 */
export const postTransfers = none<{ currency: string; customer_id: string | null; order_id: string | null; created_at: Date | string; debits: readonly string[]; credits: readonly string[]; amounts: readonly number[] }>(
  'payments/post-transfers',
  `INSERT INTO ledger_transfers (debit, credit, amount, currency, customer_id, order_id, created_at)
SELECT t.debit::"LedgerAccount", t.credit::"LedgerAccount", t.amount, $1,
  $2, $3, $4
FROM unnest($5::text[], $6::text[], $7::bigint[]) AS t (debit, credit, amount)`,
  ['currency', 'customer_id', 'order_id', 'created_at', 'debits', 'credits', 'amounts'],
)

/**
 * Whether the owner or the project of a subscription is deleted. An owner who only left the project does not
 * count: the subscription stays with the project.
 * @see prisma/sql/payments/read-abandoned.sql
 */
export const readAbandoned = one<{ id: string }, ReadAbandonedRow>(
  'payments/read-abandoned',
  `SELECT s.abandoned OR coalesce(u.status = 'deleted', false) OR coalesce(p.status = 'deleted', false)
  AS abandoned
FROM subscriptions s LEFT JOIN users u ON u.id = s.owner_id LEFT JOIN projects p ON p.id = s.project_id
WHERE s.id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadAbandonedRow {
  abandoned: boolean
}

/**
 * Like `read-subscription`, but locks the subscription and its project. The transaction has the
 * customer's time.
 * @see prisma/sql/payments/read-and-lock-subscription.sql
 */
export const readAndLockSubscription = optional<{ user_id: string; id: string }, ReadAndLockSubscriptionRow>(
  'payments/read-and-lock-subscription',
  `SELECT s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, s.owner_id,
(locked_member(s.project_id, $1)).payments_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = s.project_id FOR SHARE) AS project_status
FROM subscriptions s
WHERE s.id = $2 AND enter_customer_time(s.customer_id) IS NOT NULL
FOR NO KEY UPDATE OF s`,
  ['user_id', 'id'],
)
export interface ReadAndLockSubscriptionRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Like `read-checkout`, but locks the session's project, not the session.
 * @see prisma/sql/payments/read-checkout-and-lock-project.sql
 */
export const readCheckoutAndLockProject = optional<{ user_id: string; id: string }, ReadCheckoutAndLockProjectRow>(
  'payments/read-checkout-and-lock-project',
  `SELECT c.id, c.owner_id AS user_id, c.customer_id AS "customer_id", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url, c.project_id, c.owner_id,
(locked_member(c.project_id, $1)).payments_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = c.project_id FOR SHARE) AS project_status
FROM checkouts c
WHERE c.id = $2`,
  ['user_id', 'id'],
)
export interface ReadCheckoutAndLockProjectRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  url: string
  mode: 'payment' | 'subscription'
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  order_id: string
  subscription_id: string | null
  total_amount: number
  currency: Schemas['Currency']
  success_url: string
  cancel_url: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * A checkout session and the caller's access to it.
 * @see prisma/sql/payments/read-checkout.sql
 */
export const readCheckout = optional<{ user_id: string; id: string }, ReadCheckoutRow>(
  'payments/read-checkout',
  `SELECT c.id, c.owner_id AS user_id, c.customer_id AS "customer_id", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url, c.project_id, c.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = c.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = c.project_id) AS project_status
FROM checkouts c
WHERE c.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadCheckoutRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  url: string
  mode: 'payment' | 'subscription'
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  order_id: string
  subscription_id: string | null
  total_amount: number
  currency: Schemas['Currency']
  success_url: string
  cancel_url: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The payment clock, or the time of a customer, and how many milliseconds it is ahead of real time.
 * @see prisma/sql/payments/read-clock.sql
 */
export const readClock = one<{ customer_id: string | null }, ReadClockRow>(
  'payments/read-clock',
  `SELECT enter_customer_time($1) AS "now",
  "offset" + coalesce((SELECT c.clock_offset FROM customers c WHERE c.id = $1), 0) AS "offset"
FROM payment_clock`,
  ['customer_id'],
)
export interface ReadClockRow {
  now: string
  offset: number
}

/**
 * A dispute and the caller's access to it.
 * @see prisma/sql/payments/read-dispute.sql
 */
export const readDispute = optional<{ user_id: string; id: string }, ReadDisputeRow>(
  'payments/read-dispute',
  `SELECT d.id, d.order_id, d.payment_id, d.owner_id AS user_id, d.seller_organization_id, d.amount, d.currency,
d.reason, d.status, d.evidence_due_at, d.created_at, d.updated_at, d.project_id, d.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = d.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = d.project_id) AS project_status
FROM disputes d
WHERE d.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadDisputeRow {
  id: string
  order_id: string
  payment_id: string
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  reason: string
  status: 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review'
  evidence_due_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The ID of the order for a subscription's first period.
 * @see prisma/sql/payments/read-first-order.sql
 */
export const readFirstOrder = one<{ subscription_id: string }, ReadFirstOrderRow>(
  'payments/read-first-order',
  `SELECT id FROM orders WHERE subscription_id = $1 AND period = 1`,
  ['subscription_id'],
  { reads: true },
)
export interface ReadFirstOrderRow {
  id: string
}

/**
 * The number of the period after the latest order of a subscription.
 * @see prisma/sql/payments/read-next-period.sql
 */
export const readNextPeriod = one<{ subscription_id: string }, ReadNextPeriodRow>(
  'payments/read-next-period',
  `SELECT max(period) + 1 AS "period" FROM orders WHERE subscription_id = $1`,
  ['subscription_id'],
  { reads: true },
)
export interface ReadNextPeriodRow {
  period: number
}

/**
 * Like `read-order`, but locks the order's project. `lock-order` locks the order after its subscription.
 * @see prisma/sql/payments/read-order-and-lock-project.sql
 */
export const readOrderAndLockProject = optional<{ user_id: string; id: string }, ReadOrderAndLockProjectRow>(
  'payments/read-order-and-lock-project',
  `SELECT o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id, o.owner_id,
(locked_member(o.project_id, $1)).payments_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = o.project_id FOR SHARE) AS project_status
FROM orders o
WHERE o.id = $2`,
  ['user_id', 'id'],
)
export interface ReadOrderAndLockProjectRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The order of a checkout session.
 * @see prisma/sql/payments/read-order-of-checkout.sql
 */
export const readOrderOfCheckout = one<{ id: string }, ReadOrderOfCheckoutRow>(
  'payments/read-order-of-checkout',
  `SELECT order_id FROM checkouts WHERE id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadOrderOfCheckoutRow {
  order_id: string
}

/**
 * The order of a dispute.
 * @see prisma/sql/payments/read-order-of-dispute.sql
 */
export const readOrderOfDispute = one<{ id: string }, ReadOrderOfDisputeRow>(
  'payments/read-order-of-dispute',
  `SELECT order_id FROM disputes WHERE id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadOrderOfDisputeRow {
  order_id: string
}

/**
 * An order and the caller's access to it.
 * @see prisma/sql/payments/read-order.sql
 */
export const readOrder = optional<{ user_id: string; id: string }, ReadOrderRow>(
  'payments/read-order',
  `SELECT o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id, o.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = o.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = o.project_id) AS project_status
FROM orders o
WHERE o.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadOrderRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The state of a paid order, its payment and its refunds, oldest first, and the address of its buyer: of a
 * user if it is verified, which that of a service account never is; else of the customer.
 * @see prisma/sql/payments/read-paid-state.sql
 */
export const readPaidState = one<{ id: string }, ReadPaidStateRow>(
  'payments/read-paid-state',
  `SELECT o.status, o.refunded_amount, o.paid_at AS "paid_at", o.updated_at, p.gateway, p.card,
  CASE WHEN o.owner_id IS NULL THEN (SELECT c.email FROM customers c WHERE c.id = o.customer_id)
    ELSE (SELECT u.email FROM users u WHERE u.id = o.owner_id AND u.email_verified) END AS "buyer_email",
  (SELECT coalesce(jsonb_agg(jsonb_build_object('amount', r.amount, 'at', r.updated_at)
      ORDER BY r.updated_at, r.id), '[]')
   FROM refunds r WHERE r.order_id = o.id AND r.status = 'succeeded') AS refunds
FROM orders o JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded'
WHERE o.id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadPaidStateRow {
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  refunded_amount: number
  paid_at: string
  updated_at: string
  gateway: string
  card: { brand: string; last4: string } | null
  buyer_email: string | null
  refunds: { amount: number; at: string }[]
}

/**
 * A payment and the caller's access to it.
 * @see prisma/sql/payments/read-payment.sql
 */
export const readPayment = optional<{ user_id: string; id: string }, ReadPaymentRow>(
  'payments/read-payment',
  `SELECT p.id, p.order_id, p.checkout_id, p.subscription_id, p.owner_id AS user_id, p.seller_organization_id,
p.status, p.amount, p.currency, CASE WHEN p.card IS NOT NULL
  THEN jsonb_build_object('brand', p.card->'brand', 'last4', p.card->'last4') END AS card,
p.failure_code, p.created_at, p.updated_at, p.project_id, p.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = p.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = p.project_id) AS project_status
FROM payments p
WHERE p.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadPaymentRow {
  id: string
  order_id: string
  checkout_id: string | null
  subscription_id: string | null
  user_id: string | null
  seller_organization_id: string | null
  status: 'requires_confirmation' | 'processing' | 'succeeded' | 'failed' | 'returning' | 'returned'
  amount: number
  currency: Schemas['Currency']
  card: Schemas['PaymentCard'] | null
  failure_code: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The end of a billing period of a price that starts at :start.
 * @see prisma/sql/payments/read-period-end.sql
 */
export const readPeriodEnd = one<{ start: Date | string; price_id: string }, ReadPeriodEndRow>(
  'payments/read-period-end',
  `SELECT $1::timestamptz + (p.interval_count * 1) * ('1 ' || p.interval::text)::interval AS "end" FROM prices p WHERE p.id = $2`,
  ['start', 'price_id'],
  { reads: true },
)
export interface ReadPeriodEndRow {
  end: string
}

/**
 * The price of a subscription, with the name of its product. Archived prices still renew for existing
 * subscribers.
 * @see prisma/sql/payments/read-price-and-product.sql
 */
export const readPriceAndProduct = one<{ id: string }, ReadPriceAndProductRow>(
  'payments/read-price-and-product',
  `SELECT p.unit_amount, p.currency, d.name
FROM prices p JOIN products d ON d.id = p.product_id
WHERE p.id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadPriceAndProductRow {
  unit_amount: number
  currency: string
  name: string
}

/**
 * The prices of an order's items, with the time: of a customer, if :customer_id is not null.
 * Takes no row locks: otherwise a steady stream of orders would keep operators from archiving a price. An
 * order that is created at the same moment as the price is archived is valid.
 * @see prisma/sql/payments/read-prices.sql
 */
export const readPrices = many<{ customer_id: string | null; ids: readonly string[] }, ReadPricesRow>(
  'payments/read-prices',
  `SELECT p.id, p.unit_amount, p.currency, p.interval IS NOT NULL AS recurring,
  p.product_id, d.organization_id, p.interval, p.interval_count, p.trial_days,
  p.active AND d.active AS active, d.name, p.usage IS NOT NULL AS has_usage,
  enter_customer_time($1) AS "now"
FROM prices p JOIN products d ON d.id = p.product_id
WHERE p.id = ANY($2)`,
  ['customer_id', 'ids'],
)
export interface ReadPricesRow {
  id: string
  unit_amount: number
  currency: Schemas['Currency']
  recurring: boolean
  product_id: string
  organization_id: string | null
  interval: 'day' | 'week' | 'month' | 'year' | null
  interval_count: number | null
  trial_days: number
  active: boolean
  name: string
  has_usage: boolean
  now: string
}

/**
 * A refund that exists.
 * @see prisma/sql/payments/read-refund.sql
 */
export const readRefund = one<{ id: string }, ReadRefundRow>(
  'payments/read-refund',
  `SELECT r.id, r.order_id, r.project_id, r.owner_id AS user_id, r.seller_organization_id, r.amount, r.currency,
r.status, r.reason, r.metadata, r.created_at, r.updated_at
FROM refunds r
WHERE r.id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadRefundRow {
  id: string
  order_id: string
  project_id: string | null
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  status: 'pending' | 'succeeded' | 'failed'
  reason: string | null
  metadata: Record<string, string>
  created_at: string
  updated_at: string
}

/**
 * The amount of a paid order that can still be refunded, the payment to refund, and whether the bank decides
 * about the money, or has given it to the customer.
 * @see prisma/sql/payments/read-refundable.sql
 */
export const readRefundable = one<{ order_id: string }, ReadRefundableRow>(
  'payments/read-refundable',
  `SELECT o.total_amount - o.refunded_amount - o.refunding_amount AS available, p.id AS payment_id, p.gateway,
  p.gateway_reference, payments_now() AS "now",
  EXISTS (SELECT FROM disputes d WHERE d.payment_id = p.id AND d.status NOT IN ('won',
    'warning_needs_response', 'warning_under_review', 'warning_closed')) AS disputed
FROM orders o JOIN payments p ON p.order_id = o.id AND p.status = 'succeeded'
WHERE o.id = $1`,
  ['order_id'],
  { reads: true },
)
export interface ReadRefundableRow {
  available: number
  payment_id: string
  gateway: string
  gateway_reference: string | null
  now: string
  disputed: boolean
}

/**
 * What customers got back of the orders that pay the present period of a subscription and its changes: the
 * refunds, and the disputes with which the bank takes the money or may do so. Less what
 * reduced the credit of earlier changes of the period.
 * @see prisma/sql/payments/read-returned.sql
 */
export const readReturned = one<{ id: string }, ReadReturnedRow>(
  'payments/read-returned',
  `SELECT greatest(0, sum(least(o.total_amount, o.refunded_amount + o.refunding_amount + coalesce((
    SELECT sum(d.amount) FROM disputes d WHERE d.order_id = o.id AND d.status NOT IN ('won',
      'warning_needs_response', 'warning_under_review', 'warning_closed')), 0)))
  - max(s.uncredited_amount))::bigint AS "amount"
FROM subscriptions s
JOIN orders o ON o.subscription_id = s.id AND o.status IN ('paid', 'partially_refunded', 'refunded')
  AND (o.period = s.period OR (o.period IS NULL AND o.created_at >= coalesce(s.began_at, s.period_start)))
WHERE s.id = $1`,
  ['id'],
  { reads: true },
)
export interface ReadReturnedRow {
  amount: number
}

/**
 * A subscription and the caller's access to it.
 * @see prisma/sql/payments/read-subscription.sql
 */
export const readSubscription = optional<{ user_id: string; id: string }, ReadSubscriptionRow>(
  'payments/read-subscription',
  `SELECT s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, s.owner_id,
(SELECT your_member.payments_role FROM members your_member
 WHERE your_member.project_id = s.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = s.project_id) AS project_status
FROM subscriptions s
WHERE s.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadSubscriptionRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string | null
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The current time of the payment clock, or of a customer.
 * @see prisma/sql/payments/read-time.sql
 */
export const readTime = one<{ customer_id: string | null }, ReadTimeRow>(
  'payments/read-time',
  `SELECT enter_customer_time($1) AS "now"`,
  ['customer_id'],
)
export interface ReadTimeRow {
  now: string
}

/**
 * The usage of a subscription that no order or a correction charges: its periods that are open or can change,
 * counted until :at. Events of the first hour of a period that is longer ago than :kept_days may be deleted:
 * its quantity stays.
 * @see prisma/sql/payments/read-usage.sql
 */
export const readUsage = many<{ at: Date | string; kept_days: number; customer_id: string; subscription_id: string }, ReadUsageRow>(
  'payments/read-usage',
  `SELECT u.id, u.price_id, u.start_at, coalesce(u.end_at, greatest($1, u.start_at)) AS "end_at",
  u.end_at IS NULL AS is_open, u.free, coalesce(u.quantity, 0)::text AS "charged",
  u.carried::text AS "carried",
  CASE WHEN u.quantity IS NULL OR u.start_at > $1::timestamptz - $2 * interval '1 day'
    THEN meter_quantity(p.usage->>'meter_id', $3, u.start_at,
      coalesce(u.end_at, greatest($1, u.start_at)))
    ELSE u.quantity END::text AS "counted",
  p.usage AS "terms", p.currency, d.name, m.unit AS "unit"
FROM usage_periods u
JOIN prices p ON p.id = u.price_id
JOIN products d ON d.id = p.product_id
LEFT JOIN meters m ON m.id = p.usage->>'meter_id'
WHERE u.subscription_id = $4 AND NOT u.settled
ORDER BY u.price_id, u.id`,
  ['at', 'kept_days', 'customer_id', 'subscription_id'],
  { reads: true },
)
export interface ReadUsageRow {
  id: number
  price_id: string
  start_at: string
  end_at: string
  is_open: boolean
  free: boolean
  charged: string
  carried: string
  counted: string
  terms: Schemas['PriceUsage']
  currency: Schemas['Currency']
  name: string
  unit: string | null
}

/**
 * Transfers what is held for an order to another account.
 * @see prisma/sql/payments/release-held.sql
 */
export const releaseHeld = none<{ to: 'gateway' | 'revenue' | 'balance' | 'held' | 'late' | 'disputes'; at: Date | string; order_id: string }>(
  'payments/release-held',
  `INSERT INTO ledger_transfers (debit, credit, amount, currency, customer_id, order_id, created_at)
SELECT 'held', $1, sum(CASE WHEN t.credit = 'held' THEN t.amount ELSE -t.amount END), t.currency,
  t.customer_id, t.order_id, $2
FROM ledger_transfers t
WHERE t.order_id = $3 AND 'held' IN (t.debit, t.credit)
GROUP BY t.currency, t.customer_id, t.order_id
HAVING sum(CASE WHEN t.credit = 'held' THEN t.amount ELSE -t.amount END) > 0`,
  ['to', 'at', 'order_id'],
)

/**
 * Releases an amount of a locked order that was reserved for a refund.
 * @see prisma/sql/payments/release-refund.sql
 */
export const releaseRefund = none<{ amount: number; order_id: string }>(
  'payments/release-refund',
  `UPDATE orders SET refunding_amount = refunding_amount - $1 WHERE id = $2`,
  ['amount', 'order_id'],
)

/**
 * Reserves an amount of a locked order for a refund.
 * @see prisma/sql/payments/reserve-refund.sql
 */
export const reserveRefund = none<{ amount: number; order_id: string }>(
  'payments/reserve-refund',
  `UPDATE orders SET refunding_amount = refunding_amount + $1 WHERE id = $2`,
  ['amount', 'order_id'],
)

/**
 * Schedules the cancellation of a subscription at the end of its period, or removes it if :canceled_at is
 * null.
 * @see prisma/sql/payments/set-cancel-at-period-end.sql
 */
export const setCancelAtPeriodEnd = one<{ canceled_at: Date | string | null; id: string }, SetCancelAtPeriodEndRow>(
  'payments/set-cancel-at-period-end',
  `UPDATE subscriptions s SET cancel_at_period_end = $1::timestamptz IS NOT NULL,
  canceled_at = $1
WHERE id = $2 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['canceled_at', 'id'],
)
export interface SetCancelAtPeriodEndRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Sets or removes the scheduled change of a subscription. One that waits for its payment is due at
 * :expires_at.
 * @see prisma/sql/payments/set-change.sql
 */
export const setChange = one<{ change: object | string | null; expires_at: Date | string | null; id: string }, SetChangeRow>(
  'payments/set-change',
  `UPDATE subscriptions s SET change = $1,
  due_at = CASE WHEN s.status = 'active' THEN least(s.period_end, $2) ELSE s.due_at END
WHERE id = $3 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['change', 'expires_at', 'id'],
)
export interface SetChangeRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Completes an open, locked checkout session.
 * @see prisma/sql/payments/set-checkout-complete.sql
 */
export const setCheckoutComplete = one<{ id: string }, SetCheckoutCompleteRow>(
  'payments/set-checkout-complete',
  `UPDATE checkouts c SET status = 'complete'
WHERE id = $1 AND status = 'open' RETURNING c.id, c.owner_id AS user_id, c.customer_id AS "customer_id", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url, c.project_id, coalesce(c.owner_id, c.customer_id) AS "owner_id"`,
  ['id'],
)
export interface SetCheckoutCompleteRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  url: string
  mode: 'payment' | 'subscription'
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  order_id: string
  subscription_id: string | null
  total_amount: number
  currency: Schemas['Currency']
  success_url: string
  cancel_url: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
  project_id: string | null
  owner_id: string
}

/**
 * Expires an open, locked checkout session.
 * @see prisma/sql/payments/set-checkout-expired.sql
 */
export const setCheckoutExpired = one<{ id: string }, SetCheckoutExpiredRow>(
  'payments/set-checkout-expired',
  `UPDATE checkouts c SET status = 'expired'
WHERE id = $1 AND status = 'open' RETURNING c.id, c.owner_id AS user_id, c.customer_id AS "customer_id", c.seller_organization_id, c.url,
c.mode, c.status,
CASE WHEN c.status = 'complete' THEN 'paid' ELSE 'unpaid' END AS payment_status,
c.order_id, c.subscription_id, c.total_amount, c.currency, c.success_url, c.cancel_url, c.expires_at,
c.metadata, c.created_at, c.updated_at, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url, c.project_id, coalesce(c.owner_id, c.customer_id) AS "owner_id"`,
  ['id'],
)
export interface SetCheckoutExpiredRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  url: string
  mode: 'payment' | 'subscription'
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  order_id: string
  subscription_id: string | null
  total_amount: number
  currency: Schemas['Currency']
  success_url: string
  cancel_url: string
  expires_at: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  owns_order: boolean
  gateway: string
  gateway_reference: string | null
  gateway_url: string | null
  project_id: string | null
  owner_id: string
}

/**
 * Records the time of a dispute's state at its gateway.
 * @see prisma/sql/payments/set-dispute-synced.sql
 */
export const setDisputeSynced = none<{ synced_at: Date | string; id: string }>(
  'payments/set-dispute-synced',
  `UPDATE disputes SET synced_at = $1 WHERE id = $2`,
  ['synced_at', 'id'],
)

/**
 * Makes a renewed subscription due again at the end of its period. Its trial, if it had one, is over.
 * @see prisma/sql/payments/set-due-at-period-end.sql
 */
export const setDueAtPeriodEnd = one<{ id: string }, SetDueAtPeriodEndRow>(
  'payments/set-due-at-period-end',
  `UPDATE subscriptions s SET status = 'active', due_at = period_end
WHERE id = $1 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['id'],
)
export interface SetDueAtPeriodEndRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Makes a trial due at its end.
 * @see prisma/sql/payments/set-due-at-trial-end.sql
 */
export const setDueAtTrialEnd = none<{ id: string }>(
  'payments/set-due-at-trial-end',
  `UPDATE subscriptions SET due_at = period_end WHERE id = $1`,
  ['id'],
)

/**
 * Stores the gateway's session of an open checkout session that has none. No row if it has one, or is not
 * open.
 * @see prisma/sql/payments/set-gateway-session.sql
 */
export const setGatewaySession = optional<{ gateway_reference: string; gateway_url: string; id: string }, SetGatewaySessionRow>(
  'payments/set-gateway-session',
  `UPDATE checkouts SET gateway_reference = $1, gateway_url = $2
WHERE id = $3 AND status = 'open' AND gateway_reference IS NULL RETURNING id`,
  ['gateway_reference', 'gateway_url', 'id'],
)
export interface SetGatewaySessionRow {
  id: string
}

/**
 * Sets the latest order of a subscription.
 * @see prisma/sql/payments/set-latest-order.sql
 */
export const setLatestOrder = one<{ order_id: string; id: string }, SetLatestOrderRow>(
  'payments/set-latest-order',
  `UPDATE subscriptions s SET latest_order_id = $1 WHERE id = $2 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['order_id', 'id'],
)
export interface SetLatestOrderRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Cancels a pending order. No row if the order is not pending.
 * @see prisma/sql/payments/set-order-canceled.sql
 */
export const setOrderCanceled = optional<{ at: Date | string; id: string }, SetOrderCanceledRow>(
  'payments/set-order-canceled',
  `UPDATE orders o SET status = 'canceled', updated_at = greatest($1, updated_at + interval '1 millisecond')
WHERE id = $2 AND status = 'pending'
RETURNING o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id, coalesce(o.owner_id, o.customer_id) AS "owner_id"`,
  ['at', 'id'],
)
export interface SetOrderCanceledRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Marks an order as paid. The order must be locked and pending.
 * @see prisma/sql/payments/set-order-paid.sql
 */
export const setOrderPaid = one<{ at: Date | string; id: string }, SetOrderPaidRow>(
  'payments/set-order-paid',
  `UPDATE orders o SET status = 'paid', paid_at = $1,
  updated_at = greatest($1, updated_at + interval '1 millisecond')
WHERE id = $2 AND status = 'pending'
RETURNING o.id, o.number, o.owner_id AS user_id, o.customer_id AS "customer_id", o.seller_organization_id, o.status,
(SELECT jsonb_agg(jsonb_build_object('price_id', i.price_id, 'description', i.description,
   'quantity', i.quantity, 'unit_amount', i.unit_amount, 'amount', i.amount, 'usage', i.usage)
   ORDER BY i.position)
 FROM order_items i WHERE i.order_id = o.id) AS "items",
o.total_amount + o.credit_amount AS "subtotal_amount", o.credit_amount, o.total_amount,
o.refunded_amount, o.currency, o.checkout_id, o.subscription_id,
o.metadata, o.paid_at, o.created_by, o.created_at, o.updated_at, o.project_id, coalesce(o.owner_id, o.customer_id) AS "owner_id"`,
  ['at', 'id'],
)
export interface SetOrderPaidRow {
  id: string
  number: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'pending' | 'paid' | 'partially_refunded' | 'refunded' | 'canceled'
  items: Schemas['OrderItem'][]
  subtotal_amount: number
  credit_amount: number
  total_amount: number
  refunded_amount: number
  currency: Schemas['Currency']
  checkout_id: string | null
  subscription_id: string | null
  metadata: Record<string, string>
  paid_at: string | null
  created_by: string | null
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Marks a subscription as past due until its next retry, :days after the start of the period.
 * @see prisma/sql/payments/set-past-due.sql
 */
export const setPastDue = one<{ days: number; id: string }, SetPastDueRow>(
  'payments/set-past-due',
  `UPDATE subscriptions s SET status = 'past_due', tries = tries + 1,
  due_at = period_start + make_interval(days => $1)
WHERE id = $2 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['days', 'id'],
)
export interface SetPastDueRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Stores the gateway's id of a payment that has none.
 * @see prisma/sql/payments/set-payment-reference.sql
 */
export const setPaymentReference = none<{ gateway_reference: string; id: string }>(
  'payments/set-payment-reference',
  `UPDATE payments SET gateway_reference = $1 WHERE id = $2 AND gateway_reference IS NULL`,
  ['gateway_reference', 'id'],
)

/**
 * Marks a late payment as refunded in full. No row if it is not one.
 * @see prisma/sql/payments/set-payment-returned.sql
 */
export const setPaymentReturned = optional<{ at: Date | string; id: string }, SetPaymentReturnedRow>(
  'payments/set-payment-returned',
  `UPDATE payments p SET status = 'returned', updated_at = $1
FROM orders o
WHERE p.id = $2 AND p.status = 'returning' AND o.id = p.order_id
RETURNING p.amount, p.currency, p.order_id, o.customer_id AS "customer_id"`,
  ['at', 'id'],
)
export interface SetPaymentReturnedRow {
  amount: number
  currency: string
  order_id: string
  customer_id: string
}

/**
 * Sets the start and the end of the current period of a subscription that has started.
 * @see prisma/sql/payments/set-period-dates.sql
 */
export const setPeriodDates = none<{ period_start: Date | string; period_end: Date | string; id: string }>(
  'payments/set-period-dates',
  `UPDATE subscriptions SET period_start = $1, period_end = $2 WHERE id = $3 AND period > 0`,
  ['period_start', 'period_end', 'id'],
)

/**
 * Sets the number of the current period of a subscription, whose order was not charged yet.
 * @see prisma/sql/payments/set-period-number.sql
 */
export const setPeriodNumber = none<{ period: number; id: string }>(
  'payments/set-period-number',
  `UPDATE subscriptions SET period = $1, tries = 0 WHERE id = $2`,
  ['period', 'id'],
)

/**
 * Records the outcome of a pending refund. No row if the refund is not pending.
 * @see prisma/sql/payments/set-refund-outcome.sql
 */
export const setRefundOutcome = optional<{ status: 'pending' | 'succeeded' | 'failed'; gateway_reference: string | null; at: Date | string; id: string }, SetRefundOutcomeRow>(
  'payments/set-refund-outcome',
  `UPDATE refunds SET status = $1, gateway_reference = coalesce($2, gateway_reference),
  updated_at = greatest($3, updated_at)
WHERE id = $4 AND status = 'pending' RETURNING amount`,
  ['status', 'gateway_reference', 'at', 'id'],
)
export interface SetRefundOutcomeRow {
  amount: number
}

/**
 * Stores the gateway's id of a refund that has none.
 * @see prisma/sql/payments/set-refund-reference.sql
 */
export const setRefundReference = none<{ gateway_reference: string; id: string }>(
  'payments/set-refund-reference',
  `UPDATE refunds SET gateway_reference = $1 WHERE id = $2 AND gateway_reference IS NULL`,
  ['gateway_reference', 'id'],
)

/**
 * Reactivates a past-due or unpaid subscription. No row if it is neither. Of one that was unpaid, the period
 * begins at :at: it was not served before. What its gateway bills is never due.
 * @see prisma/sql/payments/set-subscription-active.sql
 */
export const setSubscriptionActive = optional<{ at: Date | string; id: string }, SetSubscriptionActiveRow>(
  'payments/set-subscription-active',
  `UPDATE subscriptions s SET status = 'active', tries = 0,
  anchor_at = CASE WHEN s.gateway_reference IS NULL AND s.status = 'unpaid' THEN $1::timestamptz ELSE s.anchor_at END,
  anchor_period = CASE WHEN s.gateway_reference IS NULL AND s.status = 'unpaid' THEN s.period - 1 ELSE s.anchor_period END,
  period_start = CASE WHEN s.gateway_reference IS NULL AND s.status = 'unpaid' THEN $1 ELSE s.period_start END,
  began_at = CASE WHEN NOT (s.gateway_reference IS NULL AND s.status = 'unpaid') THEN s.began_at END,
  period_end = CASE WHEN s.gateway_reference IS NULL AND s.status = 'unpaid' THEN $1 + (p.interval_count * 1) * ('1 ' || p.interval::text)::interval ELSE s.period_end END,
  due_at = CASE WHEN s.gateway_reference IS NULL AND s.status = 'unpaid' THEN $1 + (p.interval_count * 1) * ('1 ' || p.interval::text)::interval
    WHEN s.gateway_reference IS NULL THEN s.period_end END
FROM prices p
WHERE s.id = $2 AND p.id = s.price_id AND s.status IN ('past_due', 'unpaid')
RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['at', 'id'],
)
export interface SetSubscriptionActiveRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Cancels a subscription immediately. No row if the subscription is canceled.
 * @see prisma/sql/payments/set-subscription-canceled.sql
 */
export const setSubscriptionCanceled = optional<{ at: Date | string; id: string }, SetSubscriptionCanceledRow>(
  'payments/set-subscription-canceled',
  `UPDATE subscriptions s SET status = 'canceled', ended_at = $1, canceled_at = coalesce(canceled_at, $1),
  due_at = NULL, change = NULL, owed_amount = 0, paused_at = NULL, resumes_at = NULL
WHERE id = $2 AND status <> 'canceled' RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['at', 'id'],
)
export interface SetSubscriptionCanceledRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Replaces the metadata of a subscription.
 * @see prisma/sql/payments/set-subscription-metadata.sql
 */
export const setSubscriptionMetadata = one<{ metadata: object | string; id: string }, SetSubscriptionMetadataRow>(
  'payments/set-subscription-metadata',
  `UPDATE subscriptions s SET metadata = $1 WHERE id = $2 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['metadata', 'id'],
)
export interface SetSubscriptionMetadataRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Copies the status of a running subscription from its gateway.
 * @see prisma/sql/payments/set-subscription-status.sql
 */
export const setSubscriptionStatus = none<{ status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'; id: string }>(
  'payments/set-subscription-status',
  `UPDATE subscriptions SET status = $1 WHERE id = $2 AND status NOT IN ('incomplete', 'canceled')`,
  ['status', 'id'],
)

/**
 * Ignores the gateway's state of a subscription until its cancellation is sent there. No row for a
 * subscription that does not exist at the gateway.
 * @see prisma/sql/payments/set-sync-pending.sql
 */
export const setSyncPending = optional<{ id: string }, SetSyncPendingRow>(
  'payments/set-sync-pending',
  `UPDATE subscriptions SET sync_pending = true WHERE id = $1 AND gateway_reference IS NOT NULL RETURNING id`,
  ['id'],
)
export interface SetSyncPendingRow {
  id: string
}

/**
 * Records the time of a subscription's state at its gateway. No row unless the state is the latest. While a
 * cancellation is pending, only the state after it was sent counts.
 * @see prisma/sql/payments/set-synced.sql
 */
export const setSynced = optional<{ synced_at: Date | string; gateway_reference: string; id: string; cancellation_sent: boolean }, SetSyncedRow>(
  'payments/set-synced',
  `UPDATE subscriptions SET synced_at = $1, sync_pending = false,
  gateway_reference = coalesce(gateway_reference, $2)
WHERE id = $3
  AND CASE WHEN sync_pending THEN $4 ELSE synced_at IS NULL OR synced_at < $1 END
RETURNING id`,
  ['synced_at', 'gateway_reference', 'id', 'cancellation_sent'],
)
export interface SetSyncedRow {
  id: string
}

/**
 * Sets the number of failed charges of the latest order of a subscription. No row if it was as high before.
 * @see prisma/sql/payments/set-tries.sql
 */
export const setTries = optional<{ tries: number; id: string }, SetTriesRow>(
  'payments/set-tries',
  `UPDATE subscriptions SET tries = $1 WHERE id = $2 AND tries < $1 RETURNING id`,
  ['tries', 'id'],
)
export interface SetTriesRow {
  id: string
}

/**
 * Keeps a subscription whose payment was tried for the last time, until its order is paid.
 * @see prisma/sql/payments/set-unpaid.sql
 */
export const setUnpaid = one<{ id: string }, SetUnpaidRow>(
  'payments/set-unpaid',
  `UPDATE subscriptions s SET status = 'unpaid', due_at = NULL
WHERE id = $1 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['id'],
)
export interface SetUnpaidRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Puts the time of a customer ahead of the payment clock, so that it counts in `count-moved-clocks`.
 * @see prisma/sql/payments/start-customer-clock.sql
 */
export const startCustomerClock = none<{ customer_id: string }>(
  'payments/start-customer-clock',
  `UPDATE customers SET clock_offset = 1 WHERE id = $1 AND clock_offset = 0`,
  ['customer_id'],
)

/**
 * Starts the next period of a subscription with its order. :owed is left to the order after it.
 * @see prisma/sql/payments/start-next-period.sql
 */
export const startNextPeriod = one<{ order_id: string; owed: number; id: string }, StartNextPeriodRow>(
  'payments/start-next-period',
  `UPDATE subscriptions s SET period = s.period + 1, period_start = s.period_end, began_at = NULL,
  period_end = s.anchor_at + (p.interval_count * ((s.period+1) - s.anchor_period)) * ('1 ' || p.interval::text)::interval, latest_order_id = $1, tries = 0, owed_amount = $2,
  uncredited_amount = 0, paid_items = NULL
FROM prices p
WHERE s.id = $3 AND p.id = s.price_id
RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['order_id', 'owed', 'id'],
)
export interface StartNextPeriodRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Starts the first period of an incomplete subscription: at :start, until the end of its trial, until :end or
 * for one billing period of its price.
 * No row if the subscription is not incomplete. A trial is due three days before its end; what its gateway
 * bills is never due.
 * @see prisma/sql/payments/start-subscription.sql
 */
export const startSubscription = optional<{ start: Date | string; end: Date | string | null; id: string }, StartSubscriptionRow>(
  'payments/start-subscription',
  `UPDATE subscriptions s SET
  status = CASE WHEN s.trial_end IS NULL THEN 'active' ELSE 'trialing' END::"SubscriptionStatus",
  anchor_at = coalesce(s.trial_end, $1), anchor_period = CASE WHEN s.trial_end IS NULL THEN 0 ELSE 1 END,
  period = 1, period_start = $1,
  period_end = coalesce(s.trial_end, $2, $1::timestamptz + (p.interval_count * 1) * ('1 ' || p.interval::text)::interval),
  due_at = CASE WHEN s.gateway_reference IS NOT NULL THEN NULL
    WHEN s.trial_end IS NULL THEN $1::timestamptz + (p.interval_count * 1) * ('1 ' || p.interval::text)::interval
    ELSE greatest($1, s.trial_end - interval '3 days') END
FROM prices p
WHERE s.id = $3 AND p.id = s.price_id AND s.status = 'incomplete'
RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['start', 'end', 'id'],
)
export interface StartSubscriptionRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Stores a card of a customer, and makes it the default. A card that is stored gets the new expiry date.
 * @see prisma/sql/payments/store-card.sql
 */
export const storeCard = one<{ id: string; customer_id: string; gateway: string; gateway_reference: string | null; fingerprint: string; brand: string; last4: string; exp_month: number | null; exp_year: number | null; renews: boolean; at: Date | string }, StoreCardRow>(
  'payments/store-card',
  `INSERT INTO payment_methods AS t (id, customer_id, gateway, gateway_reference, fingerprint, brand, last4,
  exp_month, exp_year, renews, chosen_at, created_at, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8,
  $9, $10, greatest($11, (SELECT max(c.chosen_at) + interval '1 millisecond' FROM payment_methods c
  WHERE c.customer_id = $2)), $11, $11)
ON CONFLICT (customer_id, gateway, fingerprint) DO UPDATE SET exp_month = excluded.exp_month,
  exp_year = excluded.exp_year, chosen_at = excluded.chosen_at, updated_at = greatest($11, t.updated_at),
  gateway_reference = coalesce(excluded.gateway_reference, t.gateway_reference)
RETURNING t.id, t.customer_id,
(SELECT c.organization_id FROM customers c WHERE c.id = t.customer_id) AS seller_organization_id,
jsonb_build_object('brand', t.brand, 'last4', t.last4, 'exp_month', t.exp_month,
  'exp_year', t.exp_year) AS "card",
NOT EXISTS (SELECT FROM payment_methods o WHERE o.customer_id = t.customer_id
  AND (o.chosen_at, o.id) > (t.chosen_at, t.id)) AS "is_default",
t.created_at, t.updated_at`,
  ['id', 'customer_id', 'gateway', 'gateway_reference', 'fingerprint', 'brand', 'last4', 'exp_month', 'exp_year', 'renews', 'at'],
)
export interface StoreCardRow {
  id: string
  customer_id: string
  seller_organization_id: string | null
  card: Schemas['StoredCard']
  is_default: boolean
  created_at: string
  updated_at: string
}

/**
 * Fails the payment attempts of a checkout session that wait for a confirmation, before another attempt.
 * @see prisma/sql/payments/supersede-unconfirmed-payments.sql
 */
export const supersedeUnconfirmedPayments = none<{ at: Date | string; checkout_id: string }>(
  'payments/supersede-unconfirmed-payments',
  `UPDATE payments SET status = 'failed', failure_code = 'superseded', updated_at = $1
WHERE checkout_id = $2 AND status = 'requires_confirmation'`,
  ['at', 'checkout_id'],
)

/**
 * Continues a paused subscription at :at: the rest of its period begins then, and later periods are counted
 * from its end.
 * @see prisma/sql/payments/unpause-subscription.sql
 */
export const unpauseSubscription = one<{ at: Date | string; id: string }, UnpauseSubscriptionRow>(
  'payments/unpause-subscription',
  `UPDATE subscriptions s SET paused_at = NULL, resumes_at = NULL,
  status = CASE WHEN s.trial_end = s.period_end THEN 'trialing' ELSE 'active' END::"SubscriptionStatus",
  trial_end = CASE WHEN s.trial_end = s.period_end THEN s.trial_end + ($1 - s.paused_at)
    ELSE s.trial_end END,
  began_at = coalesce(s.began_at, s.period_start), period_start = s.period_start + ($1::timestamptz - s.paused_at),
  period_end = s.period_end + ($1 - s.paused_at), anchor_at = s.period_end + ($1 - s.paused_at),
  anchor_period = s.period,
  due_at = CASE WHEN s.trial_end = s.period_end
    THEN greatest($1, s.period_end + ($1 - s.paused_at) - interval '3 days')
    ELSE s.period_end + ($1 - s.paused_at) END
WHERE id = $2 RETURNING s.id, s.owner_id AS user_id, s.customer_id AS "customer_id", s.seller_organization_id, s.status,
coalesce(s.items, jsonb_build_array(jsonb_build_object('id', 'sitm_' || substr(s.id, 5),
  'price_id', s.price_id, 'quantity', s.quantity))) AS "items",
s.price_id, s.quantity, s.period_start AS current_period_start,
s.period_end AS current_period_end, s.trial_end, s.cancel_at_period_end, s.canceled_at, s.paused_at,
s.resumes_at, s.ended_at,
(s.change - 'terms') || jsonb_build_object('effective_at', CASE WHEN s.change->>'order_id' IS NULL
  THEN to_char(s.period_end, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END) AS scheduled_change,
s.latest_order_id AS "latest_order_id", s.metadata, s.created_at, s.updated_at, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage", s.project_id, coalesce(s.owner_id, s.customer_id) AS "owner_id"`,
  ['at', 'id'],
)
export interface UnpauseSubscriptionRow {
  id: string
  user_id: string | null
  customer_id: string
  seller_organization_id: string | null
  status: 'incomplete' | 'active' | 'past_due' | 'canceled' | 'trialing' | 'unpaid' | 'paused'
  items: Schemas['SubscriptionItem'][]
  price_id: string
  quantity: number
  current_period_start: string | null
  current_period_end: string | null
  trial_end: string | null
  cancel_at_period_end: boolean
  canceled_at: string | null
  paused_at: string | null
  resumes_at: string | null
  ended_at: string | null
  scheduled_change: Schemas['ScheduledChange'] | null | null
  latest_order_id: string
  metadata: Record<string, string>
  created_at: string
  updated_at: string
  gateway: string
  gateway_reference: string | null
  period: number
  tries: number
  due_at: string | null
  owed_amount: number
  paid_items: Schemas['SubscriptionItem'][] | null | null
  change_terms: { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null | null
  has_usage: boolean
  project_id: string | null
  owner_id: string
}

/**
 * Stores the gateway's state of a dispute of a locked order.
 * @see prisma/sql/payments/update-dispute.sql
 */
export const updateDispute = one<{ status: 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review'; amount: number; reason: string; evidence_due_at: Date | string | null; due_at: Date | string | null; at: Date | string; id: string }, UpdateDisputeRow>(
  'payments/update-dispute',
  `UPDATE disputes d SET status = $1, amount = $2, reason = $3,
  evidence_due_at = $4, due_at = $5,
  updated_at = greatest($6, updated_at + interval '1 millisecond')
WHERE id = $7
RETURNING d.id, d.order_id, d.payment_id, d.owner_id AS user_id, d.seller_organization_id, d.amount, d.currency,
d.reason, d.status, d.evidence_due_at, d.created_at, d.updated_at, d.project_id`,
  ['status', 'amount', 'reason', 'evidence_due_at', 'due_at', 'at', 'id'],
)
export interface UpdateDisputeRow {
  id: string
  order_id: string
  payment_id: string
  user_id: string | null
  seller_organization_id: string | null
  amount: number
  currency: Schemas['Currency']
  reason: string
  status: 'needs_response' | 'under_review' | 'won' | 'lost' | 'warning_needs_response' | 'warning_under_review' | 'warning_closed' | 'prevented' | 'appeal_needs_response' | 'appeal_under_review'
  evidence_due_at: string | null
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Stores the outcome of a payment attempt, and the gateway's id of one that has none. No row if an outcome
 * was stored before. A charge that was canceled may have been sent, and succeed.
 * @see prisma/sql/payments/update-payment.sql
 */
export const updatePayment = optional<{ status: 'requires_confirmation' | 'processing' | 'succeeded' | 'failed' | 'returning' | 'returned'; failure_code: string | null; due_at: Date | string | null; at: Date | string; gateway_reference: string | null; id: string }, UpdatePaymentRow>(
  'payments/update-payment',
  `UPDATE payments SET status = $1, failure_code = $2, due_at = $3, updated_at = $4,
  gateway_reference = coalesce(gateway_reference, $5)
WHERE id = $6 AND (status IN ('requires_confirmation', 'processing')
  OR (status = 'failed' AND failure_code = 'canceled'
    AND $1::"PaymentStatus" IN ('succeeded', 'returning')))
RETURNING id`,
  ['status', 'failure_code', 'due_at', 'at', 'gateway_reference', 'id'],
)
export interface UpdatePaymentRow {
  id: string
}
