-- The columns of an Invitation, from `invitations i {invitation-names}`.
-- @type metadata Record<string, string>
-- @type status Schemas['Invitation']['status']
i.id, i.project_id, p.name AS project_name, nullif(i.email, '') AS email, i.user_id, i.role,
{invitation-status} AS status, i.created_by, inviter.name AS created_by_name,
i.metadata, i.created_at, i.updated_at, i.expires_at
