-- Whether a payment of the subscription s begins its period again.
:renews AND s.status = 'unpaid'
