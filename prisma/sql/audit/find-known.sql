-- Which of these entries the audit log has.
-- @many
SELECT a.id FROM audit_entries a WHERE a.id = ANY(:ids::text[])
