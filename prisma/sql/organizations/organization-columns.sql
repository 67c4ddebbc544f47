-- The columns of an Organization without `your_membership`, from organizations o.
-- @type metadata Record<string, string>
o.id, o.name, o.description, o.metadata, o.created_by, o.created_at, o.updated_at
