-- Asks the lease holder of an upload to release the lease.
-- @optional
UPDATE uploads SET lease_requested_at = now() WHERE id = :id
RETURNING coalesce(held_until >= now(), false) AS is_held
