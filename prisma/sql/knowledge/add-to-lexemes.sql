-- Adds chunks to the counts of their lexemes. `counts` is a JSON object: the number of chunks by lexeme.
-- @many
INSERT INTO lexemes AS l (knowledge_base_id, lexeme, chunks)
SELECT :knowledge_base_id, key, value::int FROM json_each_text(:counts::json)
ON CONFLICT (knowledge_base_id, lexeme) DO UPDATE SET chunks = l.chunks + excluded.chunks
RETURNING id, lexeme
