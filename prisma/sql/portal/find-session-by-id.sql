-- A portal session of a customer that has not ended.
-- @optional
SELECT {session-columns}
FROM portal_sessions t
WHERE t.customer_id = :customer_id AND t.id = :id AND t.expires_at > now()
