-- The limits of a session: null for all scopes, and for all projects, of its user.
CASE WHEN NOT s.all_scopes THEN s.scopes END AS "scopes?",
CASE WHEN NOT s.all_projects THEN s.project_ids END AS "project_ids?"
