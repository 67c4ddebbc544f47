-- The price of a subscription, with the name of its product. Archived prices still renew for existing
-- subscribers.
-- @one
SELECT p.unit_amount, p.currency, d.name
FROM prices p JOIN products d ON d.id = p.product_id
WHERE p.id = :id
