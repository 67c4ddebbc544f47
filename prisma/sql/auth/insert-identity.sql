-- Links an account at an identity provider to a user. No row if it is linked to a user already.
-- @optional
INSERT INTO identities AS i (id, user_id, provider, subject, email, created_at, updated_at, last_used_at)
VALUES (:id, :user_id, :provider, :subject, :email, :created_at::timestamptz, :created_at::timestamptz,
  :created_at::timestamptz)
ON CONFLICT (provider, subject) DO NOTHING
RETURNING {identity-columns}
