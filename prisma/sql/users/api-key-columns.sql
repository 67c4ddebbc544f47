-- The columns of an ApiKey, from api_keys k.
-- @type scopes Schemas['ApiKey']['scopes']
k.id, k.name, k.start, k.scopes AS "scopes!",
CASE WHEN NOT k.all_projects THEN k.project_ids END AS project_ids,
k.expires_at, k.last_used_at, k.created_at, k.revoked_at, k.replaced_by
