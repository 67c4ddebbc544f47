-- Whether a user or a customer of the operator exists, for whom a budget can be.
-- @optional
SELECT u.id FROM users u WHERE u.id = :id AND u.status <> 'deleted'
UNION ALL
SELECT c.id FROM customers c WHERE c.id = :id AND c.deleted_at IS NULL AND c.organization_id IS NULL
  AND (c.user_id IS NOT NULL OR c.buyer_organization_id IS NOT NULL)
