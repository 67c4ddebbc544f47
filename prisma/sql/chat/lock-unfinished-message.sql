-- The stored part of an answer in progress. Locks it against other writers.
-- @optional
-- @type citations (Omit<Schemas['Citation'], 'stale'> & { workspace_id: string; revision: number; at: number })[]
SELECT user_id, api_key_id, usage_project_id, model AS "model!", prompt_tokens, content, citations
FROM ai_messages
WHERE id = :id AND status = 'in_progress'
FOR NO KEY UPDATE
