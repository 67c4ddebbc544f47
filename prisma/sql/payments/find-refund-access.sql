-- The caller's access to a refund.
-- @optional
SELECT r.seller_organization_id, {projects/access row=r role=payments_role}
FROM refunds r
WHERE r.id = :id
