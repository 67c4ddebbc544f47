-- Inserts a payment attempt. No row if the gateway's reference was recorded before.
-- @optional
INSERT INTO payments (id, order_id, checkout_id, status, amount, currency, gateway, gateway_reference, card,
  failure_code, due_at, created_at, updated_at)
VALUES (:id, :order_id, :checkout_id?, :status, :amount, :currency, :gateway, :gateway_reference?, :card?,
  :failure_code?, :due_at?, :at, :at)
ON CONFLICT (gateway, gateway_reference) DO NOTHING RETURNING id
