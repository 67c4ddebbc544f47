-- `subscription-columns`, with the gateway's data and the renewal state.
-- @type card { brand: string; last4: string; renews: boolean }
{subscription-columns}, s.gateway, s.gateway_reference, s.period, s.tries, s.due_at, s.card
