-- The columns of a CustomRole, from custom_roles r.
-- @type permissions Schemas['CustomRole']['permissions']
r.id, r.organization_id, r.name, r.description,
jsonb_build_object('projects', {level of=r.projects}, 'storage', {level of=r.storage}, 'ai', {level of=r.ai},
  'payments', {level of=r.payments}) AS permissions,
r.created_by, r.created_at, r.updated_at
