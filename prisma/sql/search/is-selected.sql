-- Whether the filters of a search, null without one, select the document `d`.
(:document_ids?::text[] IS NULL OR d.id = ANY(:document_ids))
  AND (:metadata?::jsonb IS NULL OR d.metadata @> :metadata)
