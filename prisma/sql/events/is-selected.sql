-- Whether the caller's key and the filter by type select the event `e`.
e.scope = ANY(:scopes) AND (:type?::text IS NULL OR e.type = :type)
