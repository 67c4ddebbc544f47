-- The membership of the caller, from organization_members m.
jsonb_build_object('id', m.id, 'role', m.role, 'status', {member-status})
