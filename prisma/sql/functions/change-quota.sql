-- Changes what a user has of a limited resource; what a service account has counts for the organization or
-- the user that it belongs to. Each change is a row of its own, so that the writes of a user do not wait for
-- each other; a job adds the changes up. Near the limit they do wait: the transaction locks the quota of the
-- user until it ends, so two transactions cannot both take the last free place.
--
-- Far from the limit a transaction takes one place with a shared lock. There are at most as many such places
-- at once as connections, which the distance to the limit allows for. The total alone, which is seconds old,
-- says whether to try; with the lock the changes count too.
-- @throws check_violation with the constraint `quota_<name>` when `checked` and more than the limit
CREATE OR REPLACE FUNCTION change_quota(name text, owner text, change bigint, checked boolean)
RETURNS void
LANGUAGE plpgsql
AS $function$
DECLARE
  account text := account_of(owner);
  key bigint := hashtextextended('quota ' || name || ' ' || account, 0);
  places bigint := current_setting('max_connections')::bigint;
  most bigint;
  used_now bigint;
BEGIN
  IF checked THEN
    SELECT value INTO most FROM quota_limits l WHERE l.quota = name;
  END IF;
  IF most IS NULL THEN
    INSERT INTO quota_changes (user_id, quota, change) VALUES (account, name, change);
    RETURN;
  END IF;
  IF change = 1 AND most > 2 * places AND coalesce(current_setting('platform.quota_place', true), '') = ''
    AND coalesce((SELECT used FROM quota_totals t WHERE t.user_id = account AND t.quota = name), 0)
      + 2 * places < most THEN
    PERFORM pg_advisory_xact_lock_shared(key);
    PERFORM set_config('platform.quota_place', name, true);
    IF quota_used(name, account) + places < most THEN
      INSERT INTO quota_changes (user_id, quota, change) VALUES (account, name, change);
      RETURN;
    END IF;
  END IF;
  PERFORM pg_advisory_xact_lock(key);
  used_now := quota_used(name, account);
  IF used_now + change > most THEN
    RAISE EXCEPTION 'quota % is used up: % of %', name, used_now, account
      USING ERRCODE = 'check_violation', CONSTRAINT = 'quota_' || name;
  END IF;
  INSERT INTO quota_changes (user_id, quota, change) VALUES (account, name, change);
END $function$;
