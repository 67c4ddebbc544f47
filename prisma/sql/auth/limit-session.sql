-- Limits a session, which must be locked, further. Null changes nothing.
-- @one
UPDATE sign_ins s SET
  scopes = coalesce(:scopes?::text[], s.scopes), all_scopes = s.all_scopes AND :scopes? IS NULL,
  project_ids = coalesce(:project_ids?::text[], s.project_ids),
  all_projects = s.all_projects AND :project_ids? IS NULL
WHERE s.id = :id
RETURNING {session-columns}
