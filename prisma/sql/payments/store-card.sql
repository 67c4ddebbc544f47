-- Stores a card of a customer, and makes it the default. A card that is stored gets the new expiry date.
-- @one
INSERT INTO payment_methods AS t (id, customer_id, gateway, gateway_reference, fingerprint, brand, last4,
  exp_month, exp_year, renews, chosen_at, created_at, updated_at)
VALUES (:id, :customer_id, :gateway, :gateway_reference?, :fingerprint, :brand, :last4, :exp_month?,
  :exp_year?, :renews, {next-choice}, :at, :at)
ON CONFLICT (customer_id, gateway, fingerprint) DO UPDATE SET exp_month = excluded.exp_month,
  exp_year = excluded.exp_year, chosen_at = excluded.chosen_at, updated_at = greatest(:at, t.updated_at),
  gateway_reference = coalesce(excluded.gateway_reference, t.gateway_reference)
RETURNING {payment-method-columns}
