-- Fails the payment attempts of a checkout session that wait for a confirmation, before another attempt.
-- @none
UPDATE payments SET status = 'failed', failure_code = 'superseded', updated_at = :at
WHERE checkout_id = :checkout_id AND status = 'requires_confirmation'
