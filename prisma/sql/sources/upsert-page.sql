-- Stores what a page is and which document it has. The document is of the sources if a page has added it.
-- @none
INSERT INTO source_pages (source_id, url, document_id, etag, last_modified, is_owner, checked_at)
VALUES (:source_id, :url, :document_id, :etag?, :last_modified?, :created OR EXISTS (
  SELECT FROM source_pages p WHERE p.document_id = :document_id AND p.is_owner), now())
ON CONFLICT (source_id, url) DO UPDATE SET document_id = excluded.document_id, etag = excluded.etag,
  last_modified = excluded.last_modified, is_owner = excluded.is_owner, checked_at = excluded.checked_at
