-- The state of the log, and the events after a sequence that the user can read, oldest first. Without events
-- there is one row.
-- PostgreSQL orders the roles from owner (lowest) to viewer (highest), so `m.role <= e.role` means "at least
-- this role". Each branch of the UNION uses its own index: events of projects, events of the user, and events
-- for everyone. A page costs the same for any length of the log.
-- @many
SELECT l.last_sequence AS last, l.removed_through AS removed,
  EXISTS (SELECT 1 FROM events WHERE sequence IS NULL) AS unnumbered, x.*
FROM event_log l LEFT JOIN LATERAL (
  SELECT {event-columns} FROM (
    SELECT p.* FROM members m CROSS JOIN LATERAL (
      SELECT * FROM events e
      WHERE e.project_id = m.project_id AND {is-scanned} AND m.role <= e.role AND {is-selected}
      ORDER BY e.sequence LIMIT :limit
    ) p WHERE m.user_id = :user_id AND (:project_ids?::text[] IS NULL OR m.project_id = ANY(:project_ids))
    UNION ALL (
      SELECT * FROM events e
      WHERE e.project_id IS NULL AND e.user_id = :user_id AND {is-scanned} AND {is-selected}
        AND NOT :in_project AND (:project_ids IS NULL OR NOT {is-tenant-event type=e.type})
      ORDER BY e.sequence LIMIT :limit
    ) UNION ALL (
      SELECT * FROM events e
      WHERE e.project_id IS NULL AND e.user_id IS NULL AND {is-scanned} AND {is-selected} AND NOT :in_project
      ORDER BY e.sequence LIMIT :limit
    )
  ) e ORDER BY e.sequence LIMIT :limit
) x ON true
ORDER BY x.sequence
