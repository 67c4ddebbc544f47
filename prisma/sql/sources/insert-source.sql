-- Inserts a source, unless the knowledge base has one with the URL.
-- @optional
WITH s AS (
  INSERT INTO knowledge_sources (id, knowledge_base_id, type, url, sync_interval_hours, next_sync_at,
    created_by, created_at, updated_at)
  VALUES (:id, :knowledge_base_id, :type, :url, :sync_interval_hours?, :created_at, :created_by, :created_at,
    :created_at)
  ON CONFLICT (knowledge_base_id, url) DO NOTHING RETURNING *
)
SELECT {owned-source-columns} FROM s JOIN knowledge_bases k ON k.id = s.knowledge_base_id
