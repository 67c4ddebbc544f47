-- An upload, without authorization.
-- @optional
SELECT {upload-columns}, u.expires_at <= now() AS is_expired FROM uploads u WHERE u.id = :id
