-- The account whose limits of use (requests, tokens, turns) a user shares: the user; the main owner of the
-- project of a service account; or its organization, which shares the limits of an owner unless an operator
-- gave it limits of its own. Quotas count for `account_of`.
CREATE OR REPLACE FUNCTION limits_of(user_id text)
RETURNS text
LANGUAGE sql
STABLE
AS $function$
  SELECT coalesce((
    SELECT coalesce(o.limits_of, s.account_id)
    FROM service_accounts s LEFT JOIN organizations o ON o.id = s.account_id
    WHERE s.user_id = limits_of.user_id
  ), user_id)
$function$;
