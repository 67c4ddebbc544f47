-- Confirms a restored copy: from now on it sends webhooks and charges. None if there is nothing to confirm.
-- @optional
UPDATE restored_copy SET confirmed_at = now() WHERE confirmed_at IS NULL
RETURNING backup_id, backup_created_at
