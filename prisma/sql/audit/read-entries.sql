-- A batch of the audit log with its signatures, oldest first.
-- @many
SELECT a.sequence, a.id, a.user_id, a.credential_id, a.operation, a.method, a.status, a.ip,
  a.organization_id, a.project_id, a.resource_id, a.request_id, a.signature, a.created_at
FROM audit_entries a
WHERE a.sequence > :after
ORDER BY a.sequence
LIMIT :count
