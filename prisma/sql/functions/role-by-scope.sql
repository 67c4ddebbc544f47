-- The role of a member for what the scope reads or writes, such as `storage:read`. A member with a custom
-- role has a role of its own for files, for AI and for payments.
CREATE OR REPLACE FUNCTION role_by_scope(
  scope text, projects "MemberRole", storage "MemberRole", ai "MemberRole", payments "MemberRole"
)
RETURNS "MemberRole"
LANGUAGE sql
IMMUTABLE
AS $function$
  SELECT CASE split_part(scope, ':', 1)
    WHEN 'storage' THEN storage WHEN 'ai' THEN ai WHEN 'payments' THEN payments ELSE projects END
$function$;
