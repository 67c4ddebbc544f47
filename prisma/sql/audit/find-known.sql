-- The ids of these entries that the audit log already has.
-- @many
SELECT a.id FROM audit_entries a WHERE a.id = ANY(:ids::text[])
