-- The text and the citations of an answer.
-- @optional
-- @type citations (Omit<Schemas['Citation'], 'stale'> & { workspace_id: string; revision: number; at: number })[]
SELECT content, citations FROM ai_messages WHERE id = :id
