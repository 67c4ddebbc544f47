-- Removes a card from the subscriptions of a customer.
-- @none
UPDATE subscriptions SET card = NULL
WHERE customer_id = :customer_id AND card->>'brand' = :brand AND card->>'last4' = :last4
