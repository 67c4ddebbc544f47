-- Keeps `projects.member_count`, and the number of a user's projects: each change is a row of its own, so
-- that the writes of a user do not wait for each other.
CREATE OR REPLACE FUNCTION count_members()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE projects p SET member_count = p.member_count + d.n
      FROM (SELECT project_id, count(*)::int AS n FROM added GROUP BY project_id) d WHERE p.id =
        d.project_id;
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, count(*)::int FROM added GROUP BY 1, 2;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE projects p SET member_count = p.member_count - d.n
      FROM (SELECT project_id, count(*)::int AS n FROM removed GROUP BY project_id) d WHERE p.id =
        d.project_id;
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, -count(*)::int FROM removed GROUP BY 1, 2;
  ELSE
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, sum(n)::int FROM (
        SELECT user_id, project_status, 1 AS n FROM added
        UNION ALL SELECT user_id, project_status, -1 FROM removed
      ) d GROUP BY 1, 2 HAVING sum(n) <> 0;
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER members_count_delete AFTER DELETE ON members
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();

CREATE OR REPLACE TRIGGER members_count_insert AFTER INSERT ON members
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();

CREATE OR REPLACE TRIGGER members_count_update AFTER UPDATE ON members
  REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_members();
