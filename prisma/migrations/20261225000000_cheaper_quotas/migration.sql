-- Quotas are counted with fewer reads and plans, and PostgreSQL makes the ids of deliveries.
CREATE OR REPLACE FUNCTION change_quota(name text, owner text, change bigint, checked boolean)
RETURNS void
LANGUAGE plpgsql
AS $function$
DECLARE
  key bigint := hashtextextended('quota ' || name || ' ' || owner, 0);
  places bigint := current_setting('max_connections')::bigint;
  most bigint;
BEGIN
  IF checked THEN
    SELECT value INTO most FROM quota_limits l WHERE l.quota = name;
  END IF;
  IF most IS NULL THEN
    INSERT INTO quota_changes (user_id, quota, change) VALUES (owner, name, change);
    RETURN;
  END IF;
  IF change = 1 AND most > 2 * places AND coalesce(current_setting('platform.quota_place', true), '') = ''
    AND coalesce((SELECT used FROM quota_totals t WHERE t.user_id = owner AND t.quota = name), 0)
      + 2 * places < most THEN
    PERFORM pg_advisory_xact_lock_shared(key);
    PERFORM set_config('platform.quota_place', name, true);
    IF quota_used(name, owner) + places < most THEN
      INSERT INTO quota_changes (user_id, quota, change) VALUES (owner, name, change);
      RETURN;
    END IF;
  END IF;
  PERFORM pg_advisory_xact_lock(key);
  IF quota_used(name, owner) + change > most THEN
    RAISE EXCEPTION 'quota % is used up', name
      USING ERRCODE = 'check_violation', CONSTRAINT = 'quota_' || name;
  END IF;
  INSERT INTO quota_changes (user_id, quota, change) VALUES (owner, name, change);
END $function$;

CREATE OR REPLACE FUNCTION count_quota()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  changed record;
  amounts text;
BEGIN
  -- The most frequent form has a statement whose plan is kept.
  IF TG_OP = 'INSERT' AND TG_ARGV[1] = 'owner_id' AND TG_ARGV[2] = 'count(*)' AND TG_ARGV[3] = 'true' THEN
    FOR changed IN SELECT owner_id AS owner, count(*) AS amount FROM added GROUP BY 1 ORDER BY 1 LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, changed.amount, true);
    END LOOP;
    RETURN NULL;
  END IF;
  amounts := format('SELECT %I AS owner, %s AS amount FROM %%s WHERE %s GROUP BY 1', TG_ARGV[1], TG_ARGV[2],
    TG_ARGV[3]);
  IF TG_OP = 'INSERT' THEN
    FOR changed IN EXECUTE format(amounts, 'added') || ' ORDER BY 1' LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, changed.amount::bigint, true);
    END LOOP;
  ELSIF TG_OP = 'DELETE' THEN
    FOR changed IN EXECUTE format(amounts, 'removed') || ' ORDER BY 1' LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, -changed.amount::bigint, false);
    END LOOP;
  ELSE
    -- Something that a user gets by a change of the row, such as a project of a deleted user, is not refused.
    FOR changed IN EXECUTE format(
      'SELECT owner, sum(amount) AS amount FROM (%s UNION ALL SELECT owner, -amount FROM (%s) old) moved
      GROUP BY 1 HAVING sum(amount) <> 0 ORDER BY 1',
      format(amounts, '(SELECT ($2).*) now'), format(amounts, '(SELECT ($1).*) before')
    ) USING OLD, NEW LOOP
      PERFORM change_quota(TG_ARGV[0], changed.owner, changed.amount::bigint, false);
    END LOOP;
  END IF;
  RETURN NULL;
END $function$;

CREATE OR REPLACE FUNCTION new_id(prefix text, at timestamp with time zone)
RETURNS text
LANGUAGE sql
VOLATILE
STRICT
PARALLEL SAFE
AS $function$
  SELECT left(id_at(prefix, at), -16) || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + substring(bits FROM 1 + 5 * digit FOR 5)::int, 1), ''
    ORDER BY digit)
  FROM (SELECT ('x7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::bit(80) AS bits) random,
    generate_series(0, 15) AS digit
$function$;
