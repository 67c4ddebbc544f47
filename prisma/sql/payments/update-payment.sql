-- Stores the outcome of a payment attempt, and the gateway's id of one that has none. No row if an outcome
-- was stored before. A charge that was canceled may have been sent, and succeed.
-- @optional
UPDATE payments SET status = :status, failure_code = :failure_code?, due_at = :due_at?, updated_at = :at,
  gateway_reference = coalesce(gateway_reference, :gateway_reference?)
WHERE id = :id AND (status IN ('requires_confirmation', 'processing')
  OR (status = 'failed' AND failure_code = 'canceled'
    AND :status::"PaymentStatus" IN ('succeeded', 'returning')))
RETURNING id
