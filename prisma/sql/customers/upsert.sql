-- Inserts a customer with this `external_id`; if there is one, locks and returns it as it is.
-- @one
INSERT INTO customers AS t (id, organization_id, external_id, email, name, address, tax_ids, locale, metadata,
  created_by, created_at, updated_at)
VALUES (:id, :organization_id?, :external_id, :email?, :name?, :address?, :tax_ids, :locale?, :metadata,
  :created_by, :created_at, :created_at)
ON CONFLICT (external_id, organization_id) WHERE external_id IS NOT NULL AND deleted_at IS NULL
DO UPDATE SET created_at = t.created_at
RETURNING {columns}
