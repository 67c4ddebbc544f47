-- Whether there are jobs.
-- @one
SELECT EXISTS (SELECT FROM jobs) AS "exist!"
