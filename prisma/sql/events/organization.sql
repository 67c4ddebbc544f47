-- The organization of the event e; null for an event of a project. The column has both.
CASE WHEN e.project_id LIKE 'org%' THEN e.project_id END
