-- The time, if a checkout session is due to expire.
-- @optional
SELECT payments_now() AS "now!" FROM checkouts c
WHERE c.id = :id AND {may-expire} AND c.expires_at <= payments_now()
