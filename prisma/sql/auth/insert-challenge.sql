-- Stores a challenge, by its SHA-256.
-- @none
INSERT INTO passkey_challenges (digest, user_id, expires_at)
VALUES (decode(:digest, 'hex'), :user_id?, now() + interval '1 second' * :seconds)
