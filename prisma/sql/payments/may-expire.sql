-- Whether this platform expires the checkout session `c` at its time. A session with a page at a remote
-- gateway expires when the gateway says so. A session with a slow payment stays open until that payment
-- finishes.
c.status = 'open' AND c.gateway_reference IS NULL
AND NOT EXISTS (SELECT FROM payments p WHERE p.checkout_id = c.id AND p.status = 'processing')
