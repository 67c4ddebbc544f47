-- The columns of a custom role, from custom_roles t.
-- @type permissions Schemas['CustomRole']['permissions']
t.id, t.organization_id, t.name, t.description,
jsonb_build_object('projects', {level of=t.projects}, 'storage', {level of=t.storage}, 'ai', {level of=t.ai},
  'payments', {level of=t.payments}) AS permissions,
t.created_by, t.created_at, t.updated_at
