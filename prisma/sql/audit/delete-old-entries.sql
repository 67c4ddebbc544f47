-- Deletes a batch of the oldest entries, and notes where the audit log begins then. An entry that is stored
-- late can be older than those before it, so the batch ends before the first that is kept.
-- @one
WITH chain AS (
  SELECT id FROM audit_chain WHERE id = 1 FOR UPDATE
), oldest AS (
  SELECT sequence, created_at < now() - :days::int * interval '1 day' AS is_due FROM audit_entries
  WHERE sequence <= (SELECT first_sequence FROM audit_chain WHERE id = (SELECT id FROM chain)) + :limit
  ORDER BY sequence LIMIT :limit
), deleted AS (
  DELETE FROM audit_entries WHERE sequence = ANY(ARRAY(
    SELECT sequence FROM (SELECT sequence, bool_and(is_due) OVER (ORDER BY sequence) AS are_due FROM oldest) o
    WHERE are_due))
  RETURNING sequence, signature
), moved AS (
  UPDATE audit_chain c SET first_sequence = d.sequence, first_signature = d.signature
  FROM (SELECT sequence, signature FROM deleted ORDER BY sequence DESC LIMIT 1) d
  WHERE c.id = 1
)
SELECT count(*)::int AS n FROM deleted
