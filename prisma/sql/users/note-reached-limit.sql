-- Notes that a limit was reached today. No row if that is noted already. Of two transactions at once, the
-- second waits for the first.
-- @optional
INSERT INTO reached_limits AS r (subject_id, name, day)
SELECT :subject_id, :name, {chat/today}
WHERE NOT EXISTS (SELECT FROM reached_limits known
  WHERE known.subject_id = :subject_id AND known.name = :name AND known.day = {chat/today})
ON CONFLICT (subject_id, name) DO UPDATE SET day = excluded.day WHERE r.day < excluded.day
RETURNING r.name
