-- Ends the least used sessions of a user beyond the 99 that may stay beside a new one.
-- @many
DELETE FROM sign_ins s WHERE s.id IN (
  SELECT id FROM sign_ins WHERE user_id = :user_id ORDER BY last_used_at DESC, id DESC OFFSET 99
)
RETURNING {session-columns}
