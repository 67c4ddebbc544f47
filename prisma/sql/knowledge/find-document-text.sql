-- The parsed text of a document.
-- @optional
-- @type pages NonNullable<Schemas['DocumentText']['pages']>
SELECT document_id, text, pages FROM document_texts WHERE document_id = :document_id
