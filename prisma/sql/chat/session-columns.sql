-- The columns of a Session except project_id, from ai_sessions s. The join leaves out deleted knowledge
-- bases.
-- @type metadata Record<string, string>
s.id, s.title, s.model, s.system_prompt,
ARRAY(
  SELECT k.id FROM unnest(s.knowledge_base_ids) WITH ORDINALITY AS named (id, n)
    JOIN knowledge_bases k ON k.id = named.id ORDER BY n) AS knowledge_base_ids,
s.status, s.message_count, s.last_message_at, {usage row=s}, s.metadata,
s.owner_id AS created_by, s.created_at, s.updated_at
