-- The columns of a feature, from features t.
-- @type organization_id Schemas['Feature']['organization_id']
-- @type type Schemas['Feature']['type']
-- @type meter_id Schemas['Feature']['meter_id']
-- @type metadata Schemas['Feature']['metadata']
-- @type created_by Schemas['Feature']['created_by']
t.id, t.organization_id, t.key, t.name, t.type, t.meter_id, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
