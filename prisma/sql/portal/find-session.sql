-- The portal session of a cookie, with its customer.
-- @optional
SELECT t.id, t.customer_id, t.return_url, c.organization_id, c.name, c.email
FROM portal_sessions t JOIN customers c ON c.id = t.customer_id
WHERE t.cookie_digest = :cookie_digest AND t.expires_at > now() AND c.deleted_at IS NULL
