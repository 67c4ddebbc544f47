-- Deletes a batch of the usage of a customer who was deleted a while ago: no request records more of it. The
-- caller has locked the adding up. `more`: whether there was such a customer.
-- @one
WITH customer AS MATERIALIZED (
  SELECT c.id, c.organization_id
  FROM forgotten_usage f JOIN customers c ON c.id = f.customer_id
  WHERE c.deleted_at < now() - interval '10 minutes'
  ORDER BY c.id LIMIT 1
  FOR UPDATE OF f SKIP LOCKED
), events AS (
  DELETE FROM usage_events WHERE ctid = ANY(ARRAY(
    SELECT e.ctid FROM customer c JOIN meters m ON m.organization_id IS NOT DISTINCT FROM c.organization_id
      JOIN usage_events e ON e.meter_id = m.id AND e.customer_id = c.id LIMIT :limit))
  RETURNING 1
), deltas AS (
  DELETE FROM usage_deltas WHERE ctid = ANY(ARRAY(
    SELECT d.ctid FROM customer c JOIN meters m ON m.organization_id IS NOT DISTINCT FROM c.organization_id
      JOIN usage_deltas d ON d.meter_id = m.id AND d.customer_id = c.id LIMIT :limit))
  RETURNING 1
), hours AS (
  DELETE FROM usage_hours WHERE ctid = ANY(ARRAY(
    SELECT h.ctid FROM customer c JOIN meters m ON m.organization_id IS NOT DISTINCT FROM c.organization_id
      JOIN usage_hours h ON h.meter_id = m.id AND h.customer_id = c.id LIMIT :limit))
  RETURNING 1
), different AS (
  DELETE FROM usage_values WHERE ctid = ANY(ARRAY(
    SELECT v.ctid FROM customer c JOIN meters m ON m.organization_id IS NOT DISTINCT FROM c.organization_id
      JOIN usage_values v ON v.meter_id = m.id AND v.customer_id = c.id LIMIT :limit))
  RETURNING 1
), counted AS (
  SELECT (SELECT count(*) FROM events) + (SELECT count(*) FROM deltas) + (SELECT count(*) FROM hours)
    + (SELECT count(*) FROM different) AS n
), done AS (
  DELETE FROM forgotten_usage f USING customer c, counted
  WHERE f.customer_id = c.id AND counted.n = 0
)
SELECT n::int AS "n!", EXISTS (SELECT FROM customer) AS "more!" FROM counted
