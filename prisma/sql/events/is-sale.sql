-- Whether the event `e` is about the catalog or a payment: operators read these events of all customers.
e.scope = 'payments:read'
