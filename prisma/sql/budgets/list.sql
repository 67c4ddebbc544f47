-- The budgets of a subject, or those that a user created.
-- @page
SELECT {columns}
FROM budgets t
WHERE true
-- @common t.id=bdg t.updated_at t.metadata
-- @filter subject_id
t.subject_id = :subject_id
-- @filter subject_type
t.subject_type = :subject_type
-- @filter created_by
t.created_by = :created_by
-- @sort created_at
t.id
-- @sort updated_at
t.updated_at
-- @id
t.id
