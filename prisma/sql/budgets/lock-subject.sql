-- Locks the number of budgets of a subject until the transaction ends.
-- @one
SELECT pg_advisory_xact_lock(hashtextextended('budgets of ' || :subject_id, 0))::text AS locked
