-- A knowledge base, without authorization.
-- @one
SELECT {base-columns}, k.project_id FROM knowledge_bases k WHERE k.id = :id
