-- Whose limits a user uses: the user's own, or those of what the service account belongs to.
CREATE OR REPLACE FUNCTION account_of(user_id text)
RETURNS text
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce((SELECT s.account_id FROM service_accounts s WHERE s.user_id = account_of.user_id), user_id)
$function$;
