-- Sets or removes the scheduled change of a subscription. One that waits for its payment is due at
-- :expires_at.
-- @one
UPDATE subscriptions s SET change = :change?,
  due_at = CASE WHEN s.status = 'active' THEN least(s.period_end, :expires_at?) ELSE s.due_at END
WHERE id = :id RETURNING {owned-subscription-columns}
