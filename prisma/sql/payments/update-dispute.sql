-- Stores the gateway's state of a dispute of a locked order.
-- @one
UPDATE disputes d SET status = :status, amount = :amount, reason = :reason,
  evidence_due_at = :evidence_due_at?, due_at = :due_at?,
  updated_at = greatest(:at, updated_at + interval '1 millisecond')
WHERE id = :id
RETURNING {dispute-columns}, d.project_id
