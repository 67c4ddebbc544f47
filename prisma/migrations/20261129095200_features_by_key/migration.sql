-- A condition on the key alone implies that it is not null, so a statement with a parameter uses this index.
DROP INDEX features_key_idx;
CREATE UNIQUE INDEX features_key_idx ON features (key, organization_id) NULLS NOT DISTINCT
  WHERE key IS NOT NULL;
