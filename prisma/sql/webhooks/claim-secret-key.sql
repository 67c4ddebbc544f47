-- The id of the key that encrypts the secrets of this database. It becomes `key_id` if there is none, or one
-- of those that `key_id` replaces.
-- @one
INSERT INTO secret_keys (key_id) VALUES (:key_id)
ON CONFLICT (id) DO UPDATE SET
  key_id = CASE WHEN secret_keys.key_id = ANY(:replaced) THEN excluded.key_id ELSE secret_keys.key_id END
RETURNING key_id
