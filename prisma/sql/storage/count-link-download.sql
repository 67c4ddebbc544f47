-- Counts a download of a link if the link is active. One conditional UPDATE, so that `max_downloads` holds
-- under concurrency.
-- @optional
UPDATE file_links l SET download_count = download_count + 1
WHERE l.id = :id AND {link-status} = 'active'
RETURNING l.id
