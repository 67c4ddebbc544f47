-- Keeps a subscription whose payment was tried for the last time, until its order is paid.
-- @one
UPDATE subscriptions s SET status = 'unpaid', due_at = NULL
WHERE id = :id RETURNING {owned-subscription-columns}
