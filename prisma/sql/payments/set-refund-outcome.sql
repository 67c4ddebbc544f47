-- Records the outcome of a pending refund. No row if the refund is not pending.
-- @optional
UPDATE refunds SET status = :status, gateway_reference = coalesce(:gateway_reference?, gateway_reference),
  updated_at = greatest(:at, updated_at)
WHERE id = :id AND status = 'pending' RETURNING amount
