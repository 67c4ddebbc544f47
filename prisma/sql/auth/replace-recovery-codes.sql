-- Replaces the recovery codes of a user.
-- @none
WITH removed AS (
  DELETE FROM recovery_codes WHERE user_id = :user_id AND NOT encode(digest, 'hex') = ANY(:digests)
)
INSERT INTO recovery_codes (user_id, digest) SELECT :user_id, decode(d, 'hex') FROM unnest(:digests::text[]) d
