-- Expired files in the order of their expiry: those after a file, or the first.
-- @many
SELECT id, expires_at FROM files
WHERE expires_at <= now()
  AND (:after_expires_at?::timestamptz IS NULL OR (expires_at, id) > (:after_expires_at, :after_id?))
ORDER BY expires_at, id LIMIT :limit
