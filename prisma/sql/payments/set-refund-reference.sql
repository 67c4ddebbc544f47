-- Stores the gateway's id of a refund that has none.
-- @none
UPDATE refunds SET gateway_reference = :gateway_reference WHERE id = :id AND gateway_reference IS NULL
