-- The columns of a Project without `your_role`, from projects p.
-- @type metadata Record<string, string>
p.id, {p.project-fields}, p.status, p.owner_id, p.organization_id, p.member_count, p.version,
p.created_by, p.created_at, p.updated_at, p.archived_at, p.deleted_at
