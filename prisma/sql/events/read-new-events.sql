-- The events after a sequence with what decides who can read them, oldest first.
-- @many
SELECT e.sequence AS "sequence!", {event-columns}, e.user_id, e.scope, e.role AS min_role
FROM events e WHERE e.sequence > :after ORDER BY e.sequence LIMIT :limit
