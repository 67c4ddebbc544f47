-- The columns of a deleted customer.
user_id = NULL, external_id = NULL, email = NULL, name = NULL, address = NULL, tax_ids = '[]', locale = NULL,
metadata = '{}', deleted_at = now()
