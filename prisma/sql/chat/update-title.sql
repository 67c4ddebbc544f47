-- Sets the title of a session.
-- @none
UPDATE ai_sessions SET title = :title, updated_at = now() WHERE id = :id
