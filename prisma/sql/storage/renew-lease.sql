-- Renews a lease and stores how many bytes are durable, if the number is not null. No row for a lost lease.
-- @optional
UPDATE uploads
SET held_until = now() + make_interval(secs => :lease_seconds), received = coalesce(:received?, received)
WHERE id = :id AND holder = :holder
RETURNING {is-requested} AS is_requested
