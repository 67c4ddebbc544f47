-- Expires an open, locked checkout session.
-- @one
UPDATE checkouts c SET status = 'expired'
WHERE id = :id AND status = 'open' RETURNING {owned-checkout-columns}
