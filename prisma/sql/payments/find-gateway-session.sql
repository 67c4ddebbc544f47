-- A checkout session, if it has a session at its gateway.
-- @optional
SELECT id FROM checkouts WHERE id = :id AND gateway_reference IS NOT NULL
