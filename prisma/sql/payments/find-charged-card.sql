-- The card that a subscription is charged to: the default of its customer at the gateway. Earlier versions
-- stored the card of the sandbox with the subscription only.
-- @optional
SELECT brand AS "brand!", last4 AS "last4!", renews AS "renews!", reference FROM (
  (SELECT 1 AS rank, m.brand, m.last4, m.renews, m.gateway_reference AS reference
   FROM payment_methods m WHERE m.customer_id = :customer_id AND m.gateway = :gateway
   ORDER BY m.chosen_at DESC, m.id DESC LIMIT 1)
  UNION ALL
  (SELECT 2, s.card->>'brand', s.card->>'last4', (s.card->>'renews')::boolean, NULL
   FROM subscriptions s WHERE s.id = :subscription_id AND s.card IS NOT NULL AND :gateway = 'sandbox')
) cards ORDER BY rank LIMIT 1
