-- Revokes a link, unless it is revoked already.
-- @none
UPDATE file_links SET revoked_at = coalesce(revoked_at, now()) WHERE id = :id
