-- Inserts a portal session of a customer, and ends all but its latest sessions.
-- @one
WITH ended AS (
  DELETE FROM portal_sessions WHERE id = ANY(ARRAY(
    SELECT o.id FROM portal_sessions o WHERE o.customer_id = :customer_id ORDER BY o.id DESC OFFSET :others))
)
INSERT INTO portal_sessions AS t (id, customer_id, digest, return_url, created_by, expires_at, created_at,
  updated_at)
VALUES (:id, :customer_id, :digest, :return_url?, :created_by, :expires_at, :created_at, :created_at)
RETURNING {session-columns}
