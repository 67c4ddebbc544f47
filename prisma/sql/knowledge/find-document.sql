-- A document with the owner and the project of its knowledge base.
-- @one
SELECT {owned-document-columns} FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.id = :id
