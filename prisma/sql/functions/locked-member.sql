-- Locks a project, so that its members stay as they are, then reads a member. Volatile: each statement in it
-- reads what is committed when it begins, so the member is the one after the wait for the lock.
CREATE OR REPLACE FUNCTION locked_member(project text, member text)
RETURNS members
LANGUAGE plpgsql
AS $function$
DECLARE
  found members;
BEGIN
  PERFORM FROM projects WHERE id = project FOR SHARE;
  SELECT * INTO found FROM members WHERE project_id = project AND user_id = member;
  RETURN found;
END;
$function$;
