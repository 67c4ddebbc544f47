-- Which of these ids are of events of the audit log.
-- @many
SELECT e.id FROM events e WHERE e.id = ANY(:ids::text[]) AND e.type = 'audit.recorded'
