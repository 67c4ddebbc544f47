-- The account whose quotas a user uses: the user, or the owner of the service account.
CREATE OR REPLACE FUNCTION account_of(user_id text)
RETURNS text
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce((SELECT s.account_id FROM service_accounts s WHERE s.user_id = account_of.user_id), user_id)
$function$;
