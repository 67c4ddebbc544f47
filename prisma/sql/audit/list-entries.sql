-- The audit log.
-- @page
SELECT {entry-columns}
FROM audit_entries a
WHERE true
-- @common a.created_at
-- @filter own
a.user_id = :own
-- @filter organization_id
a.organization_id = :organization_id
-- @filter project_id
a.project_id = :project_id
-- @filter resource_id
a.resource_id = :resource_id
-- @filter ip
a.ip = :ip
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
