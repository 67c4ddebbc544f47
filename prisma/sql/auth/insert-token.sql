-- Stores a one-time token, by its SHA-256.
-- @none
INSERT INTO one_time_tokens (digest, purpose, email, user_id, name, expires_at)
VALUES (decode(:digest, 'hex'), :purpose, :email, :user_id?, :name?,
  now() + interval '1 second' * :seconds)
