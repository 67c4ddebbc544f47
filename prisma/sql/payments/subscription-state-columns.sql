-- `subscription-columns`, with the gateway's data and the renewal state.
-- @type change_terms { restarts: boolean; gateway: string; owed: number } | null
-- @type paid_items Schemas['SubscriptionItem'][] | null
-- @type card { brand: string; last4: string; renews: boolean }
{subscription-columns}, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
{charged-card} AS card, s.owed_amount, s.paid_items, s.change->'terms' AS change_terms
