-- The URLs of the pages of a source, except some.
-- @many
SELECT url FROM source_pages WHERE source_id = :source_id AND url <> ALL (:except) ORDER BY url LIMIT :limit
