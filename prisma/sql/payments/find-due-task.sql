-- The first task that is due at :at, or now if that is null, excluding the ids :except. Each kind is found by
-- an index. Those of a customer whose clock is ahead are due earlier.
-- Tasks that are due at the same time run in the order of `rank`.
-- @optional
-- @type kind 'payment' | 'checkout' | 'subscription' | 'dispute'
SELECT kind, id, at FROM (
  (SELECT 1 AS rank, 'payment' AS kind, p.id, p.due_at AS at FROM payments p
   WHERE p.due_at <= coalesce(:at?, payments_now()) AND p.id <> ALL(:except) ORDER BY p.due_at, p.id LIMIT 1)
  UNION ALL
  (SELECT 2, 'checkout', c.id, c.expires_at FROM checkouts c
   WHERE {may-expire} AND c.expires_at <= coalesce(:at, payments_now()) AND c.id <> ALL(:except)
   ORDER BY c.expires_at, c.id LIMIT 1)
  UNION ALL
  (SELECT 3, 'subscription', s.id, s.due_at FROM subscriptions s
   WHERE s.due_at <= coalesce(:at, payments_now()) AND s.id <> ALL(:except) ORDER BY s.due_at, s.id LIMIT 1)
  UNION ALL
  (SELECT 4, 'dispute', d.id, d.due_at FROM disputes d
   WHERE d.due_at <= coalesce(:at, payments_now()) AND d.id <> ALL(:except) ORDER BY d.due_at, d.id LIMIT 1)
  UNION ALL
  (SELECT t.rank, t.kind, t.id, t.at - k.clock_offset * interval '1 millisecond'
   FROM customers k CROSS JOIN LATERAL ({tasks-of-customer}) t
   WHERE k.clock_offset > 0 AND k.deleted_at IS NULL
     AND t.at <= coalesce(:at, payments_now()) + k.clock_offset * interval '1 millisecond'
     AND t.id <> ALL(:except)
   ORDER BY 4, t.rank, t.id LIMIT 1)
) due
ORDER BY at, rank LIMIT 1
