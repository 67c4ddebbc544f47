-- `subscription-columns`, with the gateway's data and the renewal state.
-- @type change_terms { restarts: boolean; gateway: string; owed: number } | null
-- @type paid_items Schemas['SubscriptionItem'][] | null
{subscription-columns}, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at,
s.owed_amount, s.paid_items, s.change->'terms' AS change_terms
