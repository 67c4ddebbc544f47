-- Inserts chunks of a document. `chunks` is a JSON array.
-- @none
INSERT INTO chunks (id, document_id, knowledge_base_id, language, position, start_index, end_index, page,
  heading, tokens, text, terms, term_counts, embedding)
SELECT id, :document_id, :knowledge_base_id, :language, position, start, "end", page, heading, tokens, text,
  terms, counts, embedding
FROM json_to_recordset(:chunks::json) AS g (id text, position int, start int, "end" int, page int,
  heading text, tokens int, text text, terms bigint[], counts smallint[], embedding real[])
