-- The deleted projects that can no longer be restored, after the project `id` or from the first.
-- @many
SELECT p.id, p.deleted_at FROM projects p
WHERE {is-expired}
  AND (:deleted_at?::timestamptz IS NULL OR (p.deleted_at, p.id) > (:deleted_at, :id?))
ORDER BY p.deleted_at, p.id LIMIT 100
