-- The document of a page, locked, if a page has added it and no other page has it.
-- @optional
SELECT {knowledge/document-columns}, k.project_id, k.owner_id, d.wanted
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  JOIN source_pages p ON p.document_id = d.id AND p.source_id = :source_id AND p.url = :url AND p.is_owner
WHERE NOT EXISTS (
  SELECT FROM source_pages o
  WHERE o.document_id = d.id AND (o.source_id, o.url) <> (p.source_id, p.url))
FOR NO KEY UPDATE OF d
