-- The events about a user, outside of projects, after a sequence.
-- @many
SELECT e.sequence AS "sequence!", {events/event-columns}
FROM events e
WHERE e.project_id IS NULL AND e.user_id = :user_id AND e.sequence > :after::bigint
ORDER BY e.sequence LIMIT :limit
