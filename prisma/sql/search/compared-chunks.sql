-- The chunks whose vectors are compared with :embedding: those of knowledge bases, or those with the ids,
-- of the documents that filters select. Vectors of another model are not comparable.
FROM chunks c JOIN documents d ON d.id = c.document_id AND {is-searchable}
WHERE (:knowledge_base_ids?::text[] IS NULL
    OR c.knowledge_base_id = ANY(:knowledge_base_ids) AND c.embedding IS NOT NULL)
  AND (:chunk_ids?::text[] IS NULL OR c.id = ANY(:chunk_ids))
  AND {is-selected}
  AND (:embedding_model?::text IS NULL OR d.embedding_model IS NULL OR d.embedding_model = :embedding_model)
  AND cardinality(c.embedding) = cardinality(:embedding::real[])
