-- A refund that exists.
-- @one
SELECT {refund-columns}
FROM refunds r
WHERE r.id = :id
