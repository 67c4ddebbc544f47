-- The users who share the limits of a user: the service accounts of its account, and the account itself.
CREATE OR REPLACE FUNCTION users_of_account(user_id text)
RETURNS SETOF text
LANGUAGE sql
STABLE
AS $function$
  SELECT account_of(user_id)
  UNION ALL
  SELECT s.user_id FROM service_accounts s WHERE s.account_id = account_of(users_of_account.user_id)
$function$;
