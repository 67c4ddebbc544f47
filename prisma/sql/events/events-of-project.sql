-- The sort keys of the first events between {low} and {high} in the project of the membership `m`, in the
-- order {order}.
SELECT e.id, e.sequence FROM events e
WHERE (e.project_id, e.sequence) > (m.project_id, {low})
  AND (e.project_id, e.sequence) <= (m.project_id, {high})
  AND e.project_id IS NOT NULL AND e.sequence IS NOT NULL
  AND {is-selected} AND {caller-may-read
    role=role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role)}
ORDER BY e.project_id {order}, e.sequence {order} LIMIT l.page
