-- The columns of an Invitation, from invitations i.
-- @type metadata Record<string, string>
-- @type status Schemas['Invitation']['status']
i.id, i.project_id, i.email, i.role, {invitation-status} AS status, i.created_by, i.metadata,
i.created_at, i.updated_at, i.expires_at
