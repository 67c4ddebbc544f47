-- The number of queued and processing documents in the knowledge bases that the caller may read.
-- @one
SELECT coalesce(sum(c.count), 0)::int AS count
FROM document_counts c JOIN knowledge_bases k ON k.id = c.knowledge_base_id
WHERE k.id = ANY(:knowledge_base_ids) AND c.status IN ('queued', 'processing') AND {readable row=k}
