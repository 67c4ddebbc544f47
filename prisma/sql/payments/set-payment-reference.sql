-- Stores the gateway's id of a payment that has none.
-- @none
UPDATE payments SET gateway_reference = :gateway_reference WHERE id = :id AND gateway_reference IS NULL
