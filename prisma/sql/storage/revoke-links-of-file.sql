-- Revokes the links of a file that are not revoked yet.
-- @many
UPDATE file_links SET revoked_at = now() WHERE file_id = :file_id AND revoked_at IS NULL
RETURNING id
