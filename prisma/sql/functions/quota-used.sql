-- How much of a quota a user has used.
CREATE OR REPLACE FUNCTION quota_used(name text, owner text)
RETURNS bigint
LANGUAGE sql
AS $function$
  SELECT coalesce((SELECT used FROM quota_totals t WHERE t.user_id = owner AND t.quota = name), 0)
    + coalesce(
      (SELECT sum(c.change) FROM quota_changes c WHERE c.user_id = owner AND c.quota = name), 0
    )::bigint
$function$;
