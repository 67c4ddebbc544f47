-- The columns of a Folder, except its project, from folders d.
-- @type metadata Record<string, string>
d.id, d.parent_id, d.name, d.path, d.metadata, d.owner_id AS created_by, d.created_at,
d.updated_at
