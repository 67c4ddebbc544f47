-- Inserts a document, unless the knowledge base has one with the same bytes.
-- @optional
WITH d AS (
  INSERT INTO documents (id, knowledge_base_id, file_id, name, content_type, sha256, source, metadata,
    created_by, created_at, updated_at)
  VALUES (:id, :knowledge_base_id, :file_id?, :name, :content_type, :sha256, :source?, :metadata, :created_by,
    :created_at, :created_at)
  ON CONFLICT (knowledge_base_id, sha256) DO NOTHING RETURNING *
)
SELECT {owned-document-columns} FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
