-- Whether the filter by types selects the event `e`.
(l.types IS NULL OR e.type = ANY(l.types))
