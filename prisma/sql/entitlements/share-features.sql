-- Features by id, locked against changes.
-- @many
-- @type type Schemas['FeatureType']
SELECT f.id, f.organization_id, f.type, f.active FROM features f
WHERE f.id = ANY(:ids) ORDER BY f.id FOR SHARE
