-- Adds entries to the audit log, and returns them in their order.
-- @many
WITH a AS (
  INSERT INTO audit_entries (sequence, id, user_id, credential_id, operation, method, status, ip,
    organization_id, project_id, resource_id, request_id, signature, created_at)
  SELECT * FROM unnest(:sequences::bigint[], :ids::text[], :users[?]::text[], :credentials[?]::text[],
    :operations::text[], :methods::text[], :statuses::int[], :ips::text[], :organizations[?]::text[],
    :projects[?]::text[], :resources[?]::text[], :requests::text[], :signatures::text[],
    :times::timestamptz[])
  RETURNING *
)
SELECT {entry-columns} FROM a ORDER BY a.sequence
