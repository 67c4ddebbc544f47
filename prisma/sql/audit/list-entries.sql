-- The audit log.
-- @page
-- @type outcome Schemas['AuditEntry']['outcome']
SELECT a.id, a.sequence, a.user_id, a.credential_id, a.operation, a.method, a.status, {outcome} AS "outcome!",
  a.ip, a.project_id, a.resource_id, a.request_id, a.created_at
FROM audit_entries a
WHERE true
-- @common a.created_at
-- @filter own
a.user_id = :own
-- @filter user_id
a.user_id = :user_id
-- @filter credential_id
a.credential_id = :credential_id
-- @filter operation
a.operation = :operation
-- @filter outcome
{outcome} = :outcome
-- @sort created_at
a.id
-- @id
a.id
