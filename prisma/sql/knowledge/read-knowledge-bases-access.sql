-- The caller's access to several knowledge bases.
-- @many
SELECT k.id, {projects/access row=k role=ai_role} FROM knowledge_bases k WHERE k.id = ANY(:ids)
