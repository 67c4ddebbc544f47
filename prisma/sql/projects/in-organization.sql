-- Whether `{row}` is in a project of the organization :organization_id.
{row}.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = :organization_id)
