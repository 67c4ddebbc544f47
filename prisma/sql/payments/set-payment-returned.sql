-- Marks a late payment as refunded in full.
-- @none
UPDATE payments SET status = 'returned', updated_at = :at WHERE id = :id AND status = 'returning'
