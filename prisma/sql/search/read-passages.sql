-- The passages for ranked chunks. Returns fewer than were ranked if documents or the caller's membership
-- were removed in the meantime.
-- @many
-- @type metadata Record<string, string>
SELECT c.id AS chunk_id, c.document_id, k.workspace_id, d.file_id, d.name, c.heading, c.page, c.start_index,
  c.end_index, c.text, r.score AS "score!", d.metadata, d.revision, d.content_type
FROM unnest(:chunk_ids::text[], :scores::float8[]) WITH ORDINALITY AS r (id, score, place)
  JOIN chunks c ON c.id = r.id JOIN documents d ON d.id = c.document_id AND {is-searchable}
  JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE {readable row=k} ORDER BY r.place LIMIT :limit
