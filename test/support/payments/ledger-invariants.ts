// Invariants of the payment ledger: rules that all orders, payments, refunds, sessions, subscriptions and
// their events must satisfy at any time.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'

/** Statuses of orders that were paid, including refunded ones. */
const paid = "('paid', 'partially_refunded', 'refunded')"
/** The number of events of a type. */
const n = (type: string): string => `coalesce((e.n->>'${type}')::int, 0)`
/** True for objects of existing users: deleting a user deletes the events that only this user could read. */
const hasEvents = (alias: string): string =>
  `EXISTS (SELECT FROM users u WHERE u.id = ${alias}.owner_id AND u.status <> 'deleted')`

/** Each rule selects the ids that violate it. A violation reads as "{id} {rule}". */
const rules: Record<string, string> = {
  'is an order whose total is not the sum of its items': `
    SELECT o.id FROM orders o LEFT JOIN order_items i ON i.order_id = o.id GROUP BY o.id
    HAVING o.total_amount + o.credit_amount IS DISTINCT FROM sum(i.quantity * i.unit_amount)`,
  'is an order whose items differ from their prices in amount or currency': `
    SELECT o.id FROM orders o JOIN order_items i ON i.order_id = o.id JOIN prices p ON p.id = i.price_id
    WHERE o.subscription_id IS NULL AND (p.currency <> o.currency OR p.unit_amount <> i.unit_amount)`,
  'is a paid order without exactly one succeeded payment of its amount': `
    SELECT o.id FROM orders o WHERE o.status IN ${paid} AND (
      SELECT count(*) <> 1 OR sum(p.amount) <> o.total_amount OR min(p.currency) <> o.currency
      FROM payments p WHERE p.order_id = o.id AND p.status = 'succeeded')`,
  'is an unpaid order with a succeeded payment': `
    SELECT o.id FROM orders o WHERE o.status NOT IN ${paid}
      AND EXISTS (SELECT FROM payments p WHERE p.order_id = o.id AND p.status = 'succeeded')`,
  'is an order whose refunded_amount is not the sum of its succeeded refunds': `
    SELECT o.id FROM orders o WHERE o.refunded_amount <> (
      SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE r.order_id = o.id AND r.status = 'succeeded')`,
  'is an order whose refunding_amount is not the sum of its pending refunds': `
    SELECT o.id FROM orders o WHERE o.refunding_amount <> (
      SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE r.order_id = o.id AND r.status = 'pending')`,
  'is a refund of a payment of another order, or in another currency': `
    SELECT r.id FROM refunds r JOIN payments p ON p.id = r.payment_id
    WHERE p.order_id <> r.order_id OR p.status <> 'succeeded' OR p.currency <> r.currency`,
  'is a payment with another amount than its order, or with a session of another order': `
    SELECT p.id FROM payments p JOIN orders o ON o.id = p.order_id LEFT
      JOIN checkouts c ON c.id = p.checkout_id
    WHERE p.amount <> o.total_amount OR p.currency <> o.currency OR c.order_id <> o.id`,
  'is a session with another amount, currency, owner or project than its order': `
    SELECT c.id FROM checkouts c JOIN orders o ON o.id = c.order_id
    WHERE c.total_amount <> o.total_amount OR c.currency <> o.currency OR c.owner_id <> o.owner_id
      OR c.project_id IS DISTINCT FROM o.project_id`,
  'is an open session of an order that is not pending': `
    SELECT c.id FROM checkouts c JOIN orders o ON o.id = c.order_id
    WHERE c.status = 'open' AND o.status <> 'pending'`,
  'is a complete session without a succeeded payment, or another session with one': `
    SELECT c.id FROM checkouts c WHERE (c.status = 'complete') <>
      EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'succeeded')`,
  'is an expired session whose own order is still pending': `
    SELECT c.id FROM checkouts c JOIN orders o ON o.id = c.order_id
    WHERE c.status = 'expired' AND c.owns_order AND o.status = 'pending'`,
  'is a session with two active payments': `
    SELECT p.checkout_id AS id FROM payments p
    WHERE p.checkout_id IS NOT NULL AND p.status IN ('processing', 'requires_confirmation')
    GROUP BY 1 HAVING count(*) > 1`,
  'is an unconfirmed payment of a session that is not open': `
    SELECT p.id FROM payments p LEFT JOIN checkouts c ON c.id = p.checkout_id
    WHERE p.status = 'requires_confirmation' AND c.status IS DISTINCT FROM 'open'`,
  'is a sandbox payment that never reaches a final status': `
    SELECT p.id FROM payments p
    WHERE p.gateway = 'sandbox' AND (p.status = 'returning' OR p.status = 'processing' AND p.due_at IS NULL)`,
  'is a subscription whose status contradicts its latest order': `
    SELECT s.id FROM subscriptions s LEFT JOIN orders o ON o.id = s.latest_order_id
    WHERE CASE s.status
      WHEN 'incomplete' THEN o.status = 'pending' AND o.period = 1
      WHEN 'past_due' THEN o.status = 'pending' AND o.period > 1
      WHEN 'unpaid' THEN o.status = 'pending' AND o.period > 1
      WHEN 'trialing' THEN o.status IN ${paid} AND o.total_amount = 0
      WHEN 'paused' THEN o.status IN ${paid}
      WHEN 'active' THEN o.status IN ${paid}
      ELSE o.status <> 'pending' END IS NOT TRUE`,
  'is a subscription without exactly one order per period, all but the latest paid': `
    SELECT s.id FROM subscriptions s JOIN orders o ON o.subscription_id = s.id AND o.period IS NOT NULL
    GROUP BY s.id
    HAVING min(o.period) <> 1
      OR max(o.period) <> greatest(s.period, 1) AND s.anchor_period = 0 OR max(o.id) <> s.latest_order_id
      OR max(o.period) <> count(*) AND s.anchor_period = 0
      OR count(*) FILTER (WHERE o.status NOT IN ${paid}) > 1
      OR bool_or(o.status NOT IN ${paid} AND o.period < s.period)
      OR bool_or(o.project_id IS DISTINCT FROM s.project_id OR o.owner_id <> s.owner_id)`,
  'is a subscription whose period is not counted from its first': `
    SELECT s.id FROM subscriptions s JOIN prices p ON p.id = s.price_id
    WHERE s.gateway = 'sandbox' AND s.period > s.anchor_period
      AND s.status NOT IN ('paused', 'canceled') AND (
      s.period_end <>
        s.anchor_at + (s.period - s.anchor_period) * p.interval_count * ('1 ' || p.interval::text)::interval
      OR s.period_start <> s.anchor_at
        + (s.period - s.anchor_period - 1) * p.interval_count * ('1 ' || p.interval::text)::interval)`,
  'is a sandbox subscription that is never renewed, retried or canceled': `
    SELECT s.id FROM subscriptions s WHERE s.gateway = 'sandbox' AND NOT s.abandoned AND CASE s.status
      WHEN 'active' THEN s.tries <> 0
        OR s.due_at IS DISTINCT FROM least(s.period_end, (s.change->>'expires_at')::timestamptz)
      WHEN 'trialing' THEN s.due_at > s.period_end OR s.due_at IS NULL
      WHEN 'paused' THEN s.due_at IS DISTINCT FROM s.resumes_at
      WHEN 'incomplete' THEN false
      WHEN 'past_due' THEN s.cancel_at_period_end OR s.due_at IS DISTINCT FROM
        s.period_start + (ARRAY[1, 3, 5, 9, 14])[s.tries] * interval '1 day'
      ELSE s.due_at IS NOT NULL END`,
  'is a paid order with transfers that are not its total and its credit': `
    SELECT o.id FROM orders o JOIN ledger_transfers t ON t.order_id = o.id
    WHERE o.status IN ${paid} GROUP BY o.id HAVING
      coalesce(sum(t.amount) FILTER (WHERE t.debit = 'gateway' AND t.credit = 'revenue'), 0) <> o.total_amount
      OR coalesce(sum(t.amount) FILTER (WHERE t.credit = 'revenue' AND t.debit IN ('held', 'balance')), 0)
        <> o.credit_amount
      OR coalesce(sum(t.amount) FILTER (WHERE t.debit = 'revenue' AND t.credit = 'gateway'), 0)
        <> o.refunded_amount`,
  'is an order whose lost disputes are not those of the ledger': `
    SELECT o.id FROM orders o LEFT JOIN (
      SELECT order_id, sum(CASE WHEN debit = 'disputes' THEN amount ELSE -amount END) AS amount
      FROM ledger_transfers WHERE 'disputes' IN (debit, credit) GROUP BY order_id
    ) t ON t.order_id = o.id
    WHERE coalesce(t.amount, 0) <>
      (SELECT coalesce(sum(d.amount), 0) FROM disputes d WHERE d.order_id = o.id AND d.status = 'lost')`,
  'is an order that holds a credit but is not pending': `
    SELECT o.id FROM orders o JOIN ledger_transfers t ON t.order_id = o.id WHERE o.status <> 'pending'
    GROUP BY o.id HAVING coalesce(sum(t.amount) FILTER (WHERE t.credit = 'held'), 0)
      <> coalesce(sum(t.amount) FILTER (WHERE t.debit = 'held'), 0)`,
  'is a customer whose balance is not the sum of the transfers': `
    SELECT b.customer_id AS id FROM customer_balances b WHERE b.amount <> (
      SELECT sum(CASE WHEN t.credit = 'balance' THEN t.amount ELSE -t.amount END) FROM ledger_transfers t
      WHERE t.customer_id = b.customer_id AND t.currency = b.currency AND 'balance' IN (t.debit, t.credit))`,
  'is an order without exactly the events of its status': `
    SELECT o.id FROM orders o LEFT JOIN counted e ON e.id = o.id WHERE ${hasEvents('o')} AND (
      ${n('order.created')} <> 1 OR ${n('order.paid')} <> (o.status IN ${paid})::int
      OR ${n('order.canceled')} <> (o.status = 'canceled')::int
      OR ${n('order.refunded')} <>
        (SELECT count(*) FROM refunds r WHERE r.order_id = o.id AND r.status = 'succeeded'))`,
  'is a refund without exactly the events of its status': `
    SELECT r.id FROM refunds r JOIN orders o ON o.id = r.order_id LEFT JOIN counted e ON e.id = r.id
    WHERE ${hasEvents('o')} AND (
      ${n('refund.created')} <> 1
      OR ${n('refund.updated')} <> (r.status <> 'pending' AND e.first->>'status' = 'pending')::int)`,
  'is a session without exactly the events of its status': `
    SELECT c.id FROM checkouts c LEFT JOIN counted e ON e.id = c.id WHERE ${hasEvents('c')} AND (
      ${n('checkout.created')} <> 1 OR ${n('checkout.completed')} <> (c.status = 'complete')::int
      OR ${n('checkout.expired')} <> (c.status = 'expired')::int)`,
  'is a subscription without exactly the events of its status': `
    SELECT s.id FROM subscriptions s LEFT JOIN counted e ON e.id = s.id WHERE ${hasEvents('s')} AND (
      ${n('subscription.created')} <> 1 OR ${n('subscription.canceled')} <> (s.status = 'canceled')::int
      OR ${n('subscription.updated')} < greatest(s.period, 0))`,
  'differs from the object of its last event': `
    SELECT o.id FROM orders o LEFT JOIN counted e ON e.id = o.id WHERE ${hasEvents('o')}
      AND ROW(e.last->>'status', (e.last->>'refunded_amount')::bigint, e.last->>'paid_at' IS NULL)
        IS DISTINCT FROM ROW(o.status::text, o.refunded_amount, o.paid_at IS NULL)
    UNION ALL SELECT c.id FROM checkouts c LEFT JOIN counted e ON e.id = c.id
    WHERE ${hasEvents('c')} AND e.last->>'status' IS DISTINCT FROM c.status::text
    UNION ALL SELECT r.id FROM refunds r JOIN orders o ON o.id = r.order_id LEFT JOIN counted e ON e.id = r.id
    WHERE ${hasEvents('o')} AND e.last->>'status' IS DISTINCT FROM r.status::text
    UNION ALL SELECT s.id FROM subscriptions s LEFT JOIN counted e ON e.id = s.id WHERE ${hasEvents('s')}
      AND ROW(e.last->>'status', e.last->>'latest_order_id', (e.last->>'cancel_at_period_end')::boolean,
          (e.last->>'current_period_start')::timestamptz, (e.last->>'current_period_end')::timestamptz)
        IS DISTINCT FROM ROW(s.status::text, s.latest_order_id, s.cancel_at_period_end, s.period_start,
          s.period_end)`,
  'has an event whose previous status is not that of the event before': `
    SELECT x.id FROM (
      SELECT id, before, lag(status) OVER (PARTITION BY id ORDER BY position) AS expected FROM history
    ) x WHERE x.before <> x.expected`,
  'has an event without a change': `
    SELECT id FROM history WHERE type !~ 'created$' AND previous = '{}'`,
  'has an event but does not exist': `
    SELECT e.id FROM counted e
    WHERE NOT EXISTS (SELECT FROM orders WHERE id = e.id) AND NOT EXISTS (SELECT FROM checkouts
      WHERE id = e.id)
      AND NOT EXISTS (SELECT FROM subscriptions WHERE id = e.id)
      AND NOT EXISTS (SELECT FROM refunds WHERE id = e.id)`,
}

const violations = statement<{ id: string; rule: string }>(`
  WITH history AS MATERIALIZED (
    SELECT e.position, e.type, object->>'id' AS id, object, previous::text AS previous,
      object->>'status' AS status, coalesce(previous->>'status', object->>'status') AS before
    FROM events e,
      LATERAL (SELECT e.data->'object' AS object, e.data->'previous_attributes' AS previous) d
    WHERE e.type ~ '^(order|refund|checkout|subscription)\\.'
      -- They report a change that another event of the object has, or none.
      AND e.type !~ '\\.(payment_failed|renewed|past_due|paused|resumed|trial_will_end)$'
  ), counted AS MATERIALIZED (
    SELECT * FROM (
      SELECT id, jsonb_object_agg(type, n) AS n
      FROM (SELECT id, type, count(*) AS n FROM history GROUP BY id, type) t GROUP BY id
    ) numbers JOIN (
      SELECT id, (array_agg(object ORDER BY position))[1] AS first,
        (array_agg(object ORDER BY position DESC))[1] AS last
      FROM history GROUP BY id
    ) ends USING (id)
  )
  ${Object.entries(rules)
    .map(([rule, ids]) => `SELECT x.id, '${rule}' AS rule FROM (${ids}) x`)
    .join(' UNION ALL ')}`)

/**
 * The violations of all rules, one sentence each; empty if the ledger is consistent. One statement over all
 * data.
 */
export async function ledgerViolations(db: Db): Promise<string[]> {
  return (await db.sql(violations, [])).map(({ id, rule }) => `${id} ${rule}`)
}
