-- The columns of a meter, from meters t.
-- @type organization_id Schemas['Meter']['organization_id']
-- @type aggregation Schemas['Meter']['aggregation']
-- @type dimensions Schemas['Meter']['dimensions']
-- @type source Schemas['Meter']['source']
-- @type metadata Schemas['Meter']['metadata']
-- @type created_by Schemas['Meter']['created_by']
t.id, t.organization_id, t.key, t.name, t.aggregation, t.property, t.unit, t.dimensions AS "dimensions!", t.source, t.active, t.metadata, t.created_by, t.created_at, t.updated_at
