-- Reactivates a past-due subscription, and stores the card for renewals if there is one. No row if the
-- subscription is not past due. :renews says whether this platform renews it.
-- @optional
UPDATE subscriptions s SET status = 'active', tries = 0, card = coalesce(:card?, card),
  due_at = CASE WHEN :renews THEN period_end END
WHERE id = :id AND status = 'past_due' RETURNING {owned-subscription-columns}
