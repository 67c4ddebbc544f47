-- Deletes a page. Its document stays.
-- @none
DELETE FROM source_pages WHERE source_id = :source_id AND url = :url
