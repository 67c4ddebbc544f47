-- The columns of a Message except project_id, from ai_messages m, with the citations that the caller may
-- read.
-- @type finish_reason Schemas['FinishReason']
-- @type citations Schemas['Citation'][]
-- @type tool_calls Schemas['Message']['tool_calls']
-- @type searched Schemas['Message']['searched']
-- @type error Schemas['Message']['error']
-- @type metadata Record<string, string>
m.id, m.session_id, m.role, m.content, m.image_file_ids, m.status, m.model, m.provider, m.finish_reason,
{message-usage},
coalesce((
  SELECT jsonb_agg(
    (c - 'revision' - 'at' - 'workspace_id')
      || jsonb_build_object('stale', d.revision IS DISTINCT FROM (c ->> 'revision')::int) ORDER BY n)
  FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS cited (c, n)
    LEFT JOIN documents d ON d.id = c ->> 'document_id'
  WHERE {readable workspace=(c->>'workspace_id')}), '[]') AS citations,
m.tool_calls, m.refusal, m.searched, m.error, m.metadata, m.user_id AS created_by, m.created_at, m.updated_at
