-- Whether a user may give another these roles in the areas of a project, now: the user must be active, an
-- admin of the project, and may do at least as much in each area. The most powerful role is the first of the
-- type; null allows nothing.
CREATE OR REPLACE FUNCTION may_give(
  giver text, project text,
  projects "MemberRole", storage "MemberRole", ai "MemberRole", payments "MemberRole"
)
RETURNS boolean
LANGUAGE sql
STABLE
AS $function$
  SELECT EXISTS (
    SELECT FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.project_id = may_give.project AND m.user_id = may_give.giver AND u.status = 'active'
      AND m.role <= least(may_give.projects, 'admin')
      AND coalesce(m.storage_role <= may_give.storage, may_give.storage IS NULL)
      AND coalesce(m.ai_role <= may_give.ai, may_give.ai IS NULL)
      AND coalesce(m.payments_role <= may_give.payments, may_give.payments IS NULL)
  )
$function$;
