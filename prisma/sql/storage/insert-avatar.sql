-- Inserts an avatar whose blobs are stored.
-- @one
INSERT INTO avatars (id, user_id, variants, updated_at)
VALUES (:id, :user_id, :variants, :updated_at)
RETURNING {avatar-columns}
