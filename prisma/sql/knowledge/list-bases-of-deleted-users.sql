-- The knowledge bases of deleted users, after the id `after`.
-- @many
SELECT k.id FROM users u JOIN knowledge_bases k ON k.workspace_id = u.id
WHERE u.status = 'deleted' AND (:after?::text IS NULL OR k.id > :after) ORDER BY 1 LIMIT :limit
