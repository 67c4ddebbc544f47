-- Marks a subscription as past due until its next retry, :days after the start of the period.
-- @one
UPDATE subscriptions s SET status = 'past_due', tries = tries + 1,
  due_at = period_start + make_interval(days => :days)
WHERE id = :id RETURNING {owned-subscription-columns}
