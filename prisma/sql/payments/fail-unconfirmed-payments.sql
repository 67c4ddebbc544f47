-- Fails the payment attempts of a closed checkout session that wait for a confirmation.
-- @none
UPDATE payments SET status = 'failed', failure_code = 'expired', due_at = NULL, updated_at = :at
WHERE checkout_id = :checkout_id AND status = 'requires_confirmation'
