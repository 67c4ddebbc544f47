-- The document of a knowledge base with these bytes.
-- @optional
SELECT {document-columns}, k.project_id FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.knowledge_base_id = :knowledge_base_id AND d.sha256 = :sha256
