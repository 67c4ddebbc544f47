-- Releases an amount of a locked order that was reserved for a refund.
-- @none
UPDATE orders SET refunding_amount = refunding_amount - :amount WHERE id = :order_id
