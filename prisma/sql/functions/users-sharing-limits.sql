-- The users who share the limits of use of a user: those with the same `limits_of`.
CREATE OR REPLACE FUNCTION users_sharing_limits(user_id text)
RETURNS SETOF text
LANGUAGE sql
STABLE
AS $function$
  WITH account AS MATERIALIZED (SELECT limits_of(user_id) AS id)
  SELECT id FROM account
  UNION ALL
  SELECT s.user_id FROM account a JOIN service_accounts s ON s.account_id = a.id
  UNION ALL
  SELECT s.user_id FROM account a JOIN organizations o ON o.limits_of = a.id
    JOIN service_accounts s ON s.account_id = o.id
$function$;
