-- The project of the event e; null for an event of an organization.
CASE WHEN e.project_id LIKE 'prj%' THEN e.project_id END
