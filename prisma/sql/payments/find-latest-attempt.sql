-- The latest payment attempt of a checkout session.
-- An active attempt comes first: of two simultaneous attempts the active one may have the earlier id.
-- Superseded attempts do not count.
-- @optional
-- @type card { brand: string; last4: string; renews: boolean }
SELECT id, status, failure_code, card FROM payments
WHERE checkout_id = :checkout_id AND failure_code IS DISTINCT FROM 'superseded'
ORDER BY status IN ('processing', 'requires_confirmation') DESC, id DESC LIMIT 1
