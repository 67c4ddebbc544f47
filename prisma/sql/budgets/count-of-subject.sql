-- How many budgets a subject has.
-- @one
SELECT count(*)::int AS "count!" FROM budgets WHERE subject_id = :subject_id
