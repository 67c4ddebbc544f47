-- Locks the number of customers of a seller whose clock is ahead.
-- @one
SELECT pg_advisory_xact_lock(hashtextextended('customer clocks ' || coalesce(organization_id, ''), 0))::text
  AS locked
FROM customers WHERE id = :customer_id
