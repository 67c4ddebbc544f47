-- The columns of a KnowledgeBase, from knowledge_bases k, without its project.
-- @type chunking Schemas['Chunking']
-- @type document_counts Schemas['KnowledgeBase']['document_counts']
-- @type metadata Record<string, string>
k.id, k.name, k.description,
jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
(SELECT jsonb_build_object(
   'queued', coalesce(sum(c.count) FILTER (WHERE c.status = 'queued'), 0),
   'processing', coalesce(sum(c.count) FILTER (WHERE c.status = 'processing'), 0),
   'ready', coalesce(sum(c.count) FILTER (WHERE c.status = 'ready'), 0),
   'failed', coalesce(sum(c.count) FILTER (WHERE c.status = 'failed'), 0))
 FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
k.metadata, k.owner_id AS created_by, k.created_at, k.updated_at
