-- The columns of a Document, from documents d, without its project.
-- @type source Schemas['KnowledgeDocument']['source']
-- @type error NonNullable<Schemas['KnowledgeDocument']['error']>
-- @type warnings Schemas['KnowledgeDocument']['warnings']
-- @type metadata Record<string, string>
d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at
