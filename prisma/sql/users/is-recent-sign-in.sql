-- A session whose user signed in during the last ten minutes.
-- @optional
SELECT id FROM sign_ins WHERE id = :id AND created_at > now() - interval '10 minutes' AND expires_at > now()
