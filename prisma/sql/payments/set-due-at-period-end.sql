-- Makes a renewed subscription due again at the end of its period.
-- @one
UPDATE subscriptions s SET due_at = period_end WHERE id = :id RETURNING {owned-subscription-columns}
