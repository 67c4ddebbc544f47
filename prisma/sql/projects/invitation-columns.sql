-- The columns of an Invitation, from invitations i.
-- @type status Schemas['Invitation']['status']
i.id, i.project_id, i.email, i.role, {invitation-status} AS status, i.invited_by, i.created_at, i.expires_at
