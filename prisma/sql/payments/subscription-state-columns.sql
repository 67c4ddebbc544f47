-- `subscription-columns`, with the gateway's data and the renewal state.
-- @type change_terms { restarts: boolean; gateway: string; owed: number; uncredited?: number; usage?: Array<{ id: number; end_at: string; quantity: string; carried: string }> } | null
-- @type paid_items Schemas['SubscriptionItem'][] | null
{subscription-columns}, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms,
(EXISTS (SELECT FROM prices u WHERE u.usage IS NOT NULL AND u.id IN (
  SELECT s.price_id UNION ALL SELECT item->>'price_id' FROM jsonb_array_elements(s.items) item))
OR EXISTS (SELECT FROM usage_periods u WHERE u.subscription_id = s.id AND NOT u.settled)) AS "has_usage!"
