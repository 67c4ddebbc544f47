-- Stores the one-time token of a sign-in at an identity provider, by its SHA-256. With :provider and :subject
-- its use links that identity to the user.
-- @none
INSERT INTO one_time_tokens (digest, purpose, email, user_id, provider, subject, expires_at)
VALUES (decode(:digest, 'hex'), 'oidc', :email, :user_id, :provider?, :subject?,
  now() + interval '1 second' * :seconds)
