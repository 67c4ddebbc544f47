-- A dispute of the sandbox, if it is due to go on. Its order must be locked.
-- @optional
SELECT {dispute-columns}, d.project_id
FROM disputes d
WHERE d.id = :id AND d.due_at <= payments_now()
