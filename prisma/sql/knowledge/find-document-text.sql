-- The parsed text of a document.
-- @optional
-- @type pages NonNullable<Schemas['DocumentText']['pages']>
SELECT document_id, text, pages FROM document_texts
WHERE knowledge_base_id = :knowledge_base_id AND document_id = :document_id
