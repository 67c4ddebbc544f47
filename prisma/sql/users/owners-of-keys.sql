-- The users who own the keys.
-- @many
SELECT DISTINCT user_id FROM api_keys WHERE id = ANY(:ids)
