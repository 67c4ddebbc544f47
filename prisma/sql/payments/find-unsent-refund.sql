-- A refund, if the gateway does not know it.
-- @optional
SELECT id FROM refunds WHERE id = :id AND gateway_reference IS NULL
