-- Reactivates a past-due or unpaid subscription, and stores the card for renewals if there is one. No row
-- if the subscription is neither. :renews says whether this platform renews it.
-- @optional
UPDATE subscriptions s SET status = 'active', tries = 0, card = coalesce(:card?, card),
  due_at = CASE WHEN :renews THEN period_end END
WHERE id = :id AND status IN ('past_due', 'unpaid') RETURNING {owned-subscription-columns}
