-- Inserts a customer.
-- @one
INSERT INTO customers AS t (id, organization_id, user_id, buyer_organization_id, external_id, email, name, address, tax_ids, locale, metadata, created_by, created_at, updated_at)
VALUES (:id, :organization_id?, :user_id?, :buyer_organization_id?, :external_id?, :email?, :name?, :address?, :tax_ids, :locale?, :metadata, :created_by?, :created_at, :created_at)
RETURNING {columns}
