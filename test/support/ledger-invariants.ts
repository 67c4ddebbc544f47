// Whether the books balance: what must hold of all orders, payments, refunds, sessions, subscriptions and their events together, whatever
// happened to them and in whatever order.
import { statement, type Db } from '../../infra/database/database.ts'

/** Orders that were paid, whatever was given back since. */
const paid = "('paid', 'partially_refunded', 'refunded')"
/** How many events of a type there are. */
const n = (type: string): string => `coalesce((e.n->>'${type}')::int, 0)`
/** A user who is deleted takes along the events that nobody else could read. */
const told = (alias: string): string =>
  `EXISTS (SELECT FROM users u WHERE u.id = ${alias}.owner_id AND u.status <> 'deleted')`

/** What breaks a rule, by the rule. Each selects ids. */
const rules: Record<string, string> = {
  'is an order whose total is not the sum of its items': `
    SELECT o.id FROM orders o LEFT JOIN order_items i ON i.order_id = o.id GROUP BY o.id HAVING o.total_amount IS DISTINCT FROM sum(i.quantity * i.unit_amount)`,
  'is an order with items at other prices than there are, or in another currency': `
    SELECT o.id FROM orders o JOIN order_items i ON i.order_id = o.id JOIN prices p ON p.id = i.price_id
    WHERE o.subscription_id IS NULL AND (p.currency <> o.currency OR p.unit_amount <> i.unit_amount)`,
  'is a paid order without exactly one succeeded payment of its amount': `
    SELECT o.id FROM orders o WHERE o.status IN ${paid} AND (
      SELECT count(*) <> 1 OR sum(p.amount) <> o.total_amount OR min(p.currency) <> o.currency FROM payments p WHERE p.order_id = o.id AND p.status = 'succeeded')`,
  'is an order with a succeeded payment that is not paid': `
    SELECT o.id FROM orders o WHERE o.status NOT IN ${paid} AND EXISTS (SELECT FROM payments p WHERE p.order_id = o.id AND p.status = 'succeeded')`,
  'is an order whose refunded_amount is not the sum of its succeeded refunds': `
    SELECT o.id FROM orders o WHERE o.refunded_amount <> (SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE r.order_id = o.id AND r.status = 'succeeded')`,
  'is an order whose refunding_amount is not the sum of its pending refunds': `
    SELECT o.id FROM orders o WHERE o.refunding_amount <> (SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE r.order_id = o.id AND r.status = 'pending')`,
  'is a refund of another payment than that of its order, or in another currency': `
    SELECT r.id FROM refunds r JOIN payments p ON p.id = r.payment_id WHERE p.order_id <> r.order_id OR p.status <> 'succeeded' OR p.currency <> r.currency`,
  'is a payment of another amount than its order, or by a session of another': `
    SELECT p.id FROM payments p JOIN orders o ON o.id = p.order_id LEFT JOIN checkouts c ON c.id = p.checkout_id
    WHERE p.amount <> o.total_amount OR p.currency <> o.currency OR c.order_id <> o.id`,
  'is a session of another amount, currency or project than its order': `
    SELECT c.id FROM checkouts c JOIN orders o ON o.id = c.order_id
    WHERE c.amount_total <> o.total_amount OR c.currency <> o.currency OR c.owner_id <> o.owner_id OR c.project_id IS DISTINCT FROM o.project_id`,
  'is an open session of an order that is not pending': `
    SELECT c.id FROM checkouts c JOIN orders o ON o.id = c.order_id WHERE c.status = 'open' AND o.status <> 'pending'`,
  'is a complete session by which nobody paid, or another by which somebody did': `
    SELECT c.id FROM checkouts c WHERE (c.status = 'complete') <> EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'succeeded')`,
  'is an expired session whose own order is still pending': `
    SELECT c.id FROM checkouts c JOIN orders o ON o.id = c.order_id WHERE c.status = 'expired' AND c.owns_order AND o.status = 'pending'`,
  'is a session with two payments under way': `
    SELECT p.checkout_id AS id FROM payments p WHERE p.checkout_id IS NOT NULL AND p.status IN ('processing', 'requires_confirmation') GROUP BY 1 HAVING count(*) > 1`,
  'is a payment that waits for a confirmation which nobody can give': `
    SELECT p.id FROM payments p LEFT JOIN checkouts c ON c.id = p.checkout_id WHERE p.status = 'requires_confirmation' AND c.status IS DISTINCT FROM 'open'`,
  'is a payment of the sandbox that is never given back, or never ends': `
    SELECT p.id FROM payments p WHERE p.gateway = 'sandbox' AND (p.status = 'returning' OR p.status = 'processing' AND p.due_at IS NULL)`,
  'is a subscription whose status its latest order contradicts': `
    SELECT s.id FROM subscriptions s LEFT JOIN orders o ON o.id = s.latest_order_id
    WHERE CASE s.status WHEN 'incomplete' THEN o.status = 'pending' AND o.period = 1 WHEN 'past_due' THEN o.status = 'pending' AND o.period > 1
      WHEN 'active' THEN o.status IN ${paid} ELSE o.status <> 'pending' END IS NOT TRUE`,
  'is a subscription whose orders do not have its periods, each once and in order, and all but the last paid': `
    SELECT s.id FROM subscriptions s JOIN orders o ON o.subscription_id = s.id GROUP BY s.id
    HAVING min(o.period) <> 1 OR max(o.period) <> count(*) OR max(o.period) <> greatest(s.period, 1) OR max(o.id) <> s.latest_order_id
      OR count(*) FILTER (WHERE o.status NOT IN ${paid}) > 1 OR bool_or(o.status NOT IN ${paid} AND o.period < s.period)
      OR bool_or(o.project_id IS DISTINCT FROM s.project_id OR o.owner_id <> s.owner_id)`,
  'is a subscription whose period is not counted from its first': `
    SELECT s.id FROM subscriptions s JOIN prices p ON p.id = s.price_id WHERE s.gateway = 'sandbox' AND s.period > 0 AND (
      s.period_end <> s.anchor_at + s.period * p.interval_count * ('1 ' || p.interval::text)::interval
      OR s.period_start <> s.anchor_at + (s.period - 1) * p.interval_count * ('1 ' || p.interval::text)::interval)`,
  'is a subscription of the sandbox that is never renewed, tried again or ended': `
    SELECT s.id FROM subscriptions s WHERE s.gateway = 'sandbox' AND NOT s.abandoned AND CASE s.status
      WHEN 'active' THEN s.due_at IS DISTINCT FROM s.period_end OR s.tries <> 0
      WHEN 'past_due' THEN s.due_at IS DISTINCT FROM s.period_start + (ARRAY[1, 3, 5, 9, 14])[s.tries] * interval '1 day' OR s.cancel_at_period_end
      ELSE s.due_at IS NOT NULL END`,
  'is an order without exactly the events of its state': `
    SELECT o.id FROM orders o LEFT JOIN counted e ON e.id = o.id WHERE ${told('o')} AND (
      ${n('order.created')} <> 1 OR ${n('order.paid')} <> (o.status IN ${paid})::int OR ${n('order.canceled')} <> (o.status = 'canceled')::int
      OR ${n('order.refunded')} <> (SELECT count(*) FROM refunds r WHERE r.order_id = o.id AND r.status = 'succeeded'))`,
  'is a refund without exactly the events of its state': `
    SELECT r.id FROM refunds r JOIN orders o ON o.id = r.order_id LEFT JOIN counted e ON e.id = r.id WHERE ${told('o')} AND (
      ${n('refund.created')} <> 1 OR ${n('refund.updated')} <> (r.status <> 'pending' AND e.first->>'status' = 'pending')::int)`,
  'is a session without exactly the events of its state': `
    SELECT c.id FROM checkouts c LEFT JOIN counted e ON e.id = c.id WHERE ${told('c')} AND (
      ${n('checkout.created')} <> 1 OR ${n('checkout.completed')} <> (c.status = 'complete')::int OR ${n('checkout.expired')} <> (c.status = 'expired')::int)`,
  'is a subscription without exactly the events of its state': `
    SELECT s.id FROM subscriptions s LEFT JOIN counted e ON e.id = s.id WHERE ${told('s')} AND (
      ${n('subscription.created')} <> 1 OR ${n('subscription.canceled')} <> (s.status = 'canceled')::int
      OR ${n('subscription.updated')} < greatest(s.period, 0))`,
  'was last told of as something that it is not': `
    SELECT o.id FROM orders o LEFT JOIN counted e ON e.id = o.id WHERE ${told('o')}
      AND ROW(e.last->>'status', (e.last->>'refunded_amount')::bigint, e.last->>'paid_at' IS NULL) IS DISTINCT FROM ROW(o.status::text, o.refunded_amount, o.paid_at IS NULL)
    UNION ALL SELECT c.id FROM checkouts c LEFT JOIN counted e ON e.id = c.id WHERE ${told('c')} AND e.last->>'status' IS DISTINCT FROM c.status::text
    UNION ALL SELECT r.id FROM refunds r JOIN orders o ON o.id = r.order_id LEFT JOIN counted e ON e.id = r.id WHERE ${told('o')} AND e.last->>'status' IS DISTINCT FROM r.status::text
    UNION ALL SELECT s.id FROM subscriptions s LEFT JOIN counted e ON e.id = s.id WHERE ${told('s')}
      AND ROW(e.last->>'status', e.last->>'latest_order_id', (e.last->>'cancel_at_period_end')::boolean, (e.last->>'current_period_start')::timestamptz, (e.last->>'current_period_end')::timestamptz)
        IS DISTINCT FROM ROW(s.status::text, s.latest_order_id, s.cancel_at_period_end, s.period_start, s.period_end)`,
  'has an event that does not begin where the one before it ended': `
    SELECT x.id FROM (SELECT id, before, lag(status) OVER (PARTITION BY id ORDER BY position) AS expected FROM story) x WHERE x.before <> x.expected`,
  'has an event that tells of no change': `
    SELECT id FROM story WHERE type !~ 'created$' AND previous = '{}'`,
  'has an event, and is not there': `
    SELECT e.id FROM counted e WHERE NOT EXISTS (SELECT FROM orders WHERE id = e.id) AND NOT EXISTS (SELECT FROM checkouts WHERE id = e.id)
      AND NOT EXISTS (SELECT FROM subscriptions WHERE id = e.id) AND NOT EXISTS (SELECT FROM refunds WHERE id = e.id)`,
}

const balance = statement<{ id: string; rule: string }>(`
  WITH story AS MATERIALIZED (
    SELECT e.position, e.type, object->>'id' AS id, object, previous::text AS previous, object->>'status' AS status, coalesce(previous->>'status', object->>'status') AS before
    FROM events e, LATERAL (SELECT e.data->'object' AS object, e.data->'previous_attributes' AS previous) d WHERE e.type ~ '^(order|refund|checkout|subscription)\\.'
  ), counted AS MATERIALIZED (
    SELECT * FROM (SELECT id, jsonb_object_agg(type, n) AS n FROM (SELECT id, type, count(*) AS n FROM story GROUP BY id, type) t GROUP BY id) numbers
    JOIN (SELECT id, (array_agg(object ORDER BY position))[1] AS first, (array_agg(object ORDER BY position DESC))[1] AS last FROM story GROUP BY id) ends USING (id)
  )
  ${Object.entries(rules)
    .map(([rule, ids]) => `SELECT x.id, '${rule}' AS rule FROM (${ids}) x`)
    .join(' UNION ALL ')}`)

/** What does not balance, a sentence each; empty when everything does. One statement over all there is. */
export async function ledgerViolations(db: Db): Promise<string[]> {
  return (await db.sql(balance, [])).map(({ id, rule }) => `${id} ${rule}`)
}
