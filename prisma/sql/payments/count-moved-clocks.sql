-- How many other customers of the same seller have a clock that is ahead.
-- @one
SELECT count(*) AS "count!" FROM customers c JOIN customers t ON t.id = :customer_id
WHERE c.clock_offset > 0 AND c.deleted_at IS NULL AND c.id <> t.id
  AND c.organization_id IS NOT DISTINCT FROM t.organization_id
