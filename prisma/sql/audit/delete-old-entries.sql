-- Deletes a batch of the oldest entries, and notes where the audit log begins then.
-- @one
WITH chain AS (
  SELECT id FROM audit_chain WHERE id = 1 FOR UPDATE
), deleted AS (
  DELETE FROM audit_entries WHERE sequence = ANY(ARRAY(
    SELECT sequence FROM audit_entries WHERE created_at < now() - :days::int * interval '1 day'
      AND sequence <= (SELECT first_sequence FROM audit_chain WHERE id = (SELECT id FROM chain)) + :limit
    ORDER BY sequence LIMIT :limit))
  RETURNING sequence, signature
), moved AS (
  UPDATE audit_chain c SET first_sequence = d.sequence, first_signature = d.signature
  FROM (SELECT sequence, signature FROM deleted ORDER BY sequence DESC LIMIT 1) d
  WHERE c.id = 1
)
SELECT count(*)::int AS n FROM deleted
