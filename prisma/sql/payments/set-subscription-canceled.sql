-- Cancels a subscription immediately. No row if the subscription is canceled.
-- @optional
UPDATE subscriptions s SET status = 'canceled', ended_at = :at, canceled_at = coalesce(canceled_at, :at),
  due_at = NULL, change = NULL, owed_amount = 0, paused_at = NULL, resumes_at = NULL
WHERE id = :id AND status <> 'canceled' RETURNING {owned-subscription-columns}
