-- Changes the fields of a document that are given.
-- @one
WITH d AS (
  UPDATE documents SET name = coalesce(:name?, name), metadata = coalesce(:metadata?, metadata),
    updated_at = {times/next-updated-at}
  WHERE id = :id RETURNING *
)
SELECT {owned-document-columns} FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
