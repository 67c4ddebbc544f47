-- Leases an upload to a holder, unless another one holds it. A previous holder that is still in the row has
-- not released its lease.
-- @optional
UPDATE uploads u
SET holder = :holder, held_until = now() + make_interval(secs => :lease_seconds), lease_requested_at = NULL
FROM (SELECT id, holder FROM uploads WHERE id = :id FOR UPDATE) before
WHERE u.id = before.id AND (u.held_until IS NULL OR u.held_until < now())
RETURNING coalesce(u.temp_name, u.id) AS temp_name, before.holder IS NOT NULL AS was_expired
