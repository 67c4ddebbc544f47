-- The columns of an AuditEntry, from audit_entries a.
-- @type outcome Schemas['AuditEntry']['outcome']
a.id, a.sequence, a.user_id, a.credential_id, a.operation, a.method, a.status, {outcome} AS "outcome!",
a.ip, a.organization_id, a.project_id, a.resource_id, a.request_id, a.created_at
