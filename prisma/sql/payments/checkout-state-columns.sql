-- `checkout-columns`, with the gateway's data and whether the session created its order.
{checkout-columns}, c.owns_order, c.gateway, c.gateway_reference, c.gateway_url
