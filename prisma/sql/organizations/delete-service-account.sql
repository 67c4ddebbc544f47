-- Marks a service account as deleted.
-- @none
UPDATE service_accounts SET deleted_at = now() WHERE id = :id
