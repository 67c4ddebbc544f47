-- Whether the customer t belongs to the operator, and is not deleted.
t.organization_id IS NULL AND t.deleted_at IS NULL
