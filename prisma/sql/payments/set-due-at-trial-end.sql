-- Makes a trial due at its end.
-- @none
UPDATE subscriptions SET due_at = period_end WHERE id = :id
