-- Prisma reads NULL in a list column as an empty list; SQL does not. These columns were never meant to be
-- NULL.
UPDATE api_keys SET scopes = coalesce(scopes, '{}'), project_ids = coalesce(project_ids, '{}')
WHERE scopes IS NULL OR project_ids IS NULL;
ALTER TABLE api_keys ALTER scopes SET NOT NULL, ALTER project_ids SET NOT NULL;

UPDATE projects SET tags = '{}' WHERE tags IS NULL;
ALTER TABLE projects ALTER tags SET NOT NULL;

UPDATE webhook_endpoints SET event_types = coalesce(event_types, '{}'), scopes = coalesce(scopes, '{}'),
  project_ids = coalesce(project_ids, '{}')
WHERE event_types IS NULL OR scopes IS NULL OR project_ids IS NULL;
ALTER TABLE webhook_endpoints ALTER event_types SET NOT NULL, ALTER scopes SET NOT NULL,
  ALTER project_ids SET NOT NULL;

UPDATE removed_chunks SET terms = '{}' WHERE terms IS NULL;
ALTER TABLE removed_chunks ALTER terms SET NOT NULL;
