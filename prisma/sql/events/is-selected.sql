-- Whether the filter by types selects the event `e`.
(:types?::text[] IS NULL OR e.type = ANY(:types))
