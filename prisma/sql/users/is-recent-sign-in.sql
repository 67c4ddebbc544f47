-- A session whose user signed in during the last ten minutes. One from the future, by a clock that jumped, is
-- not recent.
-- @optional
SELECT id FROM sign_ins WHERE id = :id AND created_at > now() - interval '10 minutes'
  AND created_at < now() + interval '1 minute' AND expires_at > now()
