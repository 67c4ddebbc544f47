-- Counts an upload by a link if the link is active. One conditional UPDATE, so that `max_files` holds under
-- concurrency.
-- @optional
UPDATE upload_links l SET file_count = file_count + 1
WHERE l.id = :id AND {upload-link-status} = 'active'
RETURNING l.id
