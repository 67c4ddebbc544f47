-- Keeps a subscription from being due until the charge for its period has an outcome. Its trial, if it had
-- one, is over.
-- @one
UPDATE subscriptions s SET due_at = NULL,
  status = CASE WHEN s.status = 'past_due' THEN s.status ELSE 'active' END
WHERE id = :id RETURNING {owned-subscription-columns}
