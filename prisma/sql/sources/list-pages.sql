-- The pages of a source, each with the hash and the media type of its document; those that were checked the
-- longest time ago first.
-- @many
SELECT p.url, p.document_id, p.etag, p.last_modified, d.sha256, d.content_type
FROM source_pages p JOIN documents d ON d.id = p.document_id
WHERE p.source_id = :source_id ORDER BY p.checked_at LIMIT :limit
