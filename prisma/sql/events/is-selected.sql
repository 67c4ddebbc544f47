-- Whether the filter by type selects the event `e`.
(:type?::text IS NULL OR e.type = :type)
