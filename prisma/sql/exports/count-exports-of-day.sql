-- How many exports a user started in the last 24 hours, and when the first of them no longer counts.
-- @one
SELECT count(*)::int AS "n!", min(e.created_at) + interval '24 hours' AS "resets_at?"
FROM account_exports e
WHERE e.user_id = :user_id AND e.status <> 'failed' AND e.created_at > now() - interval '24 hours'
