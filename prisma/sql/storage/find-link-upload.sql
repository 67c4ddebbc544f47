-- Like `find-upload`: an upload of the link with this digest, unless its project is deleted.
-- @optional
SELECT {upload-columns}, u.expires_at <= now() AS is_expired
FROM uploads u JOIN upload_links l ON l.id = u.upload_link_id LEFT JOIN projects p ON p.id = l.project_id
WHERE u.id = :id AND l.digest = :digest AND p.status IS DISTINCT FROM 'deleted'
