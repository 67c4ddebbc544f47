-- Whether the filters of a search, null without one, select the document of the text `t`.
(:document_ids?::text[] IS NULL OR t.document_id = ANY(:document_ids))
  AND (:metadata?::jsonb IS NULL OR t.metadata @> :metadata)
  AND (:condition?::text IS NULL OR jsonb_path_match(
    jsonb_build_object('id', t.document_id, 'metadata', t.metadata), :condition::jsonpath, :operands?::jsonb,
    true))
