-- Reserves an amount of a locked order for a refund.
-- @none
UPDATE orders SET refunding_amount = refunding_amount + :amount WHERE id = :order_id
