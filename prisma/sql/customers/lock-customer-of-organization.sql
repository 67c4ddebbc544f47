-- The customer as which an organization buys, locked against other writers and new sales.
-- @optional
SELECT {columns}
FROM customers t
WHERE t.buyer_organization_id = :buyer_organization_id AND {is-living}
FOR NO KEY UPDATE
