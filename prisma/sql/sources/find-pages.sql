-- Those pages of a source that have one of some URLs, each with the hash of its document; those that were
-- checked the longest time ago first.
-- @many
SELECT p.url, p.etag, p.last_modified, d.sha256
FROM source_pages p JOIN documents d ON d.id = p.document_id
WHERE p.source_id = :source_id AND p.url = ANY(:urls) ORDER BY p.checked_at
