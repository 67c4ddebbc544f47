-- The first events between two sequences of `l` that the caller can read, in the order {order}.
-- Each branch of the UNION uses its own index: events of projects, events of the user, events for everyone,
-- and, for operators, sales. An event that two branches find is returned once. A page costs the same for any
-- length of the log: the sort keys and the pairs allow no other index. PostgreSQL would scan the whole log
-- for each project without events, if one project or user has most of them.
SELECT DISTINCT ON (e.sequence) e.sequence, {event-columns} FROM (
  SELECT p.* FROM event_readers m CROSS JOIN LATERAL (
    SELECT e.* FROM events e
    WHERE (e.project_id, e.sequence) > (m.project_id, l.low)
      AND (e.project_id, e.sequence) <= (m.project_id, l.high)
      AND e.project_id IS NOT NULL AND e.sequence IS NOT NULL
      AND {is-selected} AND {caller-may-read
        role=role_by_scope(e.scope,m.role,m.storage_role,m.ai_role,m.payments_role)}
    ORDER BY e.project_id {order}, e.sequence {order} LIMIT :limit
  ) p WHERE m.user_id = :user_id AND (:all_projects OR m.project_id = ANY(:project_ids::text[]))
  UNION ALL (
    SELECT e.* FROM events e
    WHERE e.project_id IS NULL AND NOT :in_project
      AND (e.user_id, e.sequence) > (:user_id, l.low) AND (e.user_id, e.sequence) <= (:user_id, l.high)
      AND e.sequence IS NOT NULL AND {is-selected} AND {caller-may-read role=NULL}
    ORDER BY e.user_id {order}, e.sequence {order} LIMIT :limit
  ) UNION ALL (
    SELECT e.* FROM events e
    WHERE e.project_id IS NULL AND e.user_id IS NULL AND NOT :in_project
      AND {is-scanned} AND {is-selected} AND {caller-may-read role=NULL}
    ORDER BY e.user_id {order}, e.sequence {order} LIMIT :limit
  ) UNION ALL (
    SELECT e.* FROM events e
    WHERE {is-sale} AND :operator AND :all_projects
      AND {is-scanned} AND {is-selected} AND {caller-may-read role=NULL}
    ORDER BY e.sequence {order} LIMIT :limit
  ) UNION ALL (
    SELECT p.* FROM unnest(:project_ids) project (id) CROSS JOIN LATERAL (
      SELECT e.* FROM events e
      WHERE e.project_id = project.id AND {is-sale} AND :operator
        AND {is-scanned} AND {is-selected} AND {caller-may-read role=NULL}
      ORDER BY e.sequence {order} LIMIT :limit
    ) p
  )
) e ORDER BY e.sequence {order} LIMIT :limit
