-- Sets the URL of a user's avatar; null for no avatar.
-- @one
UPDATE users
SET avatar_url = :avatar_url?, updated_at = {times/next-updated-at}
WHERE id = :user_id
RETURNING updated_at
