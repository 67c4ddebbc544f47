-- Notes that a page has not changed.
-- @none
UPDATE source_pages SET checked_at = now(), etag = :etag?, last_modified = :last_modified?
WHERE source_id = :source_id AND url = :url
