-- An archive that has not expired, and the caller's access to it.
-- @optional
SELECT {archive-columns}, a.directory, {projects/access row=a role=storage_role}
FROM archives a
WHERE a.id = :id AND a.expires_at > now()
