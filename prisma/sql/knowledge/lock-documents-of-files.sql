-- The documents that were created from the files. Locks them in one order, to avoid deadlocks.
-- @many
SELECT {owned-document-columns} FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.file_id = ANY(:file_ids) ORDER BY d.id FOR UPDATE OF d
