-- Makes a renewed subscription due again at the end of its period. Its trial, if it had one, is over.
-- @one
UPDATE subscriptions s SET status = 'active', due_at = period_end
WHERE id = :id RETURNING {owned-subscription-columns}
