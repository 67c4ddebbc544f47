-- Releases a lease. `keep_holder`: the partial file of an expired holder is still in use. The row then keeps
-- a holder, so that the next lease knows that it must relocate.
-- @none
UPDATE uploads
SET holder = CASE WHEN :keep_holder THEN holder END, held_until = NULL, lease_requested_at = NULL
WHERE id = :id AND holder = :holder
