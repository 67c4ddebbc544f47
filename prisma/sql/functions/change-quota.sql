-- Changes what a user has of a limited resource. The row stays locked until the transaction ends, so two
-- transactions cannot both take the last free place.
-- @throws check_violation with the constraint `quota_<name>` when `checked` and more than the limit
CREATE OR REPLACE FUNCTION change_quota(name text, owner text, change bigint, checked boolean)
RETURNS void
LANGUAGE plpgsql
AS $function$
DECLARE
  total bigint;
BEGIN
  INSERT INTO quota_usage AS u (user_id, quota, used) VALUES (owner, name, change)
  ON CONFLICT (user_id, quota) DO UPDATE SET used = u.used + excluded.used
  RETURNING u.used INTO total;
  IF checked AND total > (SELECT value FROM quota_limits l WHERE l.quota = name) THEN
    RAISE EXCEPTION 'quota % is used up', name
      USING ERRCODE = 'check_violation', CONSTRAINT = 'quota_' || name;
  END IF;
END $function$;
