-- Deletes a batch of expired exports. A trigger puts their files into quarantine.
-- @one
WITH deleted AS (
  DELETE FROM account_exports WHERE id = ANY(ARRAY(
    SELECT id FROM account_exports WHERE expires_at <= now() LIMIT :limit
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
