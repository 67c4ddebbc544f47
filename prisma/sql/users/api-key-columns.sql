-- The columns of an ApiKey, from api_keys k.
-- @type metadata Record<string, string>
-- @type scopes Schemas['ApiKey']['scopes']
k.id, k.name, k.start, k.scopes AS "scopes!",
CASE WHEN NOT k.all_projects THEN k.project_ids END AS project_ids,
nullif(k.allowed_addresses, '{}') AS allowed_addresses, k.expires_at,
k.last_used_at, k.last_used_ip, k.metadata, k.created_at, k.updated_at, k.revoked_at, k.replaced_by,
k.created_by_key, k.created_by
