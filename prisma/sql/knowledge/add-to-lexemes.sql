-- Adds chunks to the counts of their lexemes. `counts` is a JSON object: the number of chunks by lexeme.
-- @many
WITH counts AS MATERIALIZED (
  SELECT key COLLATE "C" AS lexeme, value::int AS chunks FROM json_each_text(:counts::json)
), known AS (
  UPDATE lexemes l SET chunks = l.chunks + c.chunks FROM counts c
  WHERE l.knowledge_base_id = :knowledge_base_id AND l.lexeme = c.lexeme RETURNING l.id, l.lexeme
), added AS (
  INSERT INTO lexemes (knowledge_base_id, lexeme, chunks)
  SELECT :knowledge_base_id, c.lexeme, c.chunks FROM counts c
  WHERE NOT EXISTS (SELECT FROM lexemes l WHERE l.knowledge_base_id = :knowledge_base_id
    AND l.lexeme = c.lexeme)
  RETURNING id, lexeme
)
SELECT * FROM known UNION ALL SELECT * FROM added
