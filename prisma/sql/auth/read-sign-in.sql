-- The facts that decide whether a user who has signed in must give the password again.
-- @optional
SELECT u.email AS "email!", EXISTS (SELECT 1 FROM user_passwords p WHERE p.user_id = u.id) AS "has_password!",
  (s.methods && ARRAY['link', 'oidc', 'passkey']
    AND s.created_at > now() - interval '10 minutes'
    AND s.created_at < now() + interval '1 minute') AS "is_recent!"
FROM sign_ins s JOIN users u ON u.id = s.user_id
WHERE s.id = :session_id AND s.user_id = :user_id AND s.expires_at > now()
