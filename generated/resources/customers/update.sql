-- Updates a locked customer.
-- @one
UPDATE customers t SET external_id = :external_id?, email = :email?, name = :name?, address = :address?, tax_ids = :tax_ids, locale = :locale?, metadata = :metadata, updated_at = :updated_at
WHERE t.id = :id
RETURNING {columns}
