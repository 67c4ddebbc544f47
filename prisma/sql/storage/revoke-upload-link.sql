-- Revokes an upload link, unless it is revoked already.
-- @none
UPDATE upload_links SET revoked_at = coalesce(revoked_at, now()) WHERE id = :id
