-- Whether a payment of the subscription s begins its period again.
s.gateway_reference IS NULL AND s.status = 'unpaid'
