-- The chunks whose vectors are compared with :embedding: those of knowledge bases, or those with the ids,
-- of the documents that filters select.
FROM chunks c JOIN documents d ON d.id = c.document_id AND {is-searchable}
WHERE (:knowledge_base_ids?::text[] IS NULL
    OR c.knowledge_base_id = ANY(:knowledge_base_ids) AND c.embedding IS NOT NULL)
  AND (:chunk_ids?::text[] IS NULL OR c.id = ANY(:chunk_ids))
  AND {is-selected}
  AND cardinality(c.embedding) = cardinality(:embedding::real[])
