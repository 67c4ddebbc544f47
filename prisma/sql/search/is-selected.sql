-- Whether the filters of a search, null without one, select the document `d`.
(:document_ids?::text[] IS NULL OR d.id = ANY(:document_ids))
  AND (:metadata?::jsonb IS NULL OR d.metadata @> :metadata)
  AND (:condition?::text IS NULL OR jsonb_path_match(
    jsonb_build_object('id', d.id, 'metadata', d.metadata), :condition::jsonpath, :operands?::jsonb, true))
