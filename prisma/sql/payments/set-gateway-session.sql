-- Stores the gateway's session of an open checkout session that has none. No row if it has one, or is not
-- open.
-- @optional
UPDATE checkouts SET gateway_reference = :gateway_reference, gateway_url = :gateway_url
WHERE id = :id AND status = 'open' AND gateway_reference IS NULL RETURNING id
