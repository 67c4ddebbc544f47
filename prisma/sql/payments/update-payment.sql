-- Stores the outcome of a payment attempt. No row if an outcome was stored before.
-- @optional
UPDATE payments SET status = :status, failure_code = :failure_code?, due_at = :due_at?, updated_at = :at
WHERE id = :id AND status IN ('requires_confirmation', 'processing') RETURNING id
