-- `hold-lexemes` if no other transaction holds them, and whether the knowledge base exists.
-- @one
SELECT pg_try_advisory_xact_lock(hashtextextended(:knowledge_base_id, 7311903266)) AS locked,
  EXISTS (SELECT FROM knowledge_bases WHERE id = :knowledge_base_id) AS exists
