-- Renews a lease. Stores how many bytes are durable, and where they are in S3, unless these are null. No row
-- for a lost lease.
-- @optional
UPDATE uploads
SET held_until = now() + make_interval(secs => :lease_seconds), received = coalesce(:received?, received),
  multipart = coalesce(:multipart?, multipart)
WHERE id = :id AND holder = :holder
RETURNING {is-requested} AS is_requested
