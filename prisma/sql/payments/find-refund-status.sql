-- The status of a refund, or of a payment that is refunded because it was late.
-- @optional
SELECT status::text FROM refunds WHERE id = :id UNION ALL SELECT status::text FROM payments WHERE id = :id
