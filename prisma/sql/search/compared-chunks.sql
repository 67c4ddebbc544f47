-- The chunks whose vectors are compared with :embedding: those of a knowledge base, or those of them with the
-- ids, of the documents that filters select. Vectors of another model are not comparable.
FROM chunks c JOIN document_texts t ON t.knowledge_base_id = c.knowledge_base_id
  AND t.document_id = c.document_id AND {is-searchable}
WHERE c.knowledge_base_id = :knowledge_base_id AND c.embedding IS NOT NULL
  AND (:chunk_ids?::text[] IS NULL OR c.id = ANY(:chunk_ids))
  AND {is-selected}
  AND (:embedding_model?::text IS NULL OR t.embedding_model IS NULL OR t.embedding_model = :embedding_model)
  AND cardinality(c.embedding) = cardinality(:embedding::real[])
