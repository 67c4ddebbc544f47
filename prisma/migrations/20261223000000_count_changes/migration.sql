-- Changes of counters become rows of their own. The names of the tables become views of the totals with their
-- changes, which servers of earlier versions read.
CREATE TABLE "quota_changes" (
    "id" BIGSERIAL NOT NULL,
    "user_id" TEXT NOT NULL,
    "quota" TEXT NOT NULL,
    "change" BIGINT NOT NULL,

    CONSTRAINT "quota_changes_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "quota_changes_user_id_quota_idx" ON "quota_changes"("user_id", "quota");
CREATE TABLE "project_count_changes" (
    "id" BIGSERIAL NOT NULL,
    "user_id" TEXT NOT NULL,
    "status" "ProjectStatus" NOT NULL,
    "change" INTEGER NOT NULL,

    CONSTRAINT "project_count_changes_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "project_count_changes_user_id_status_idx" ON "project_count_changes"("user_id", "status");

ALTER TABLE "quota_usage" RENAME TO "quota_totals";
ALTER TABLE "quota_totals" RENAME CONSTRAINT "quota_usage_pkey" TO "quota_totals_pkey";
ALTER TABLE "project_counts" RENAME TO "project_count_totals";
ALTER TABLE "project_count_totals" RENAME CONSTRAINT "project_counts_pkey" TO "project_count_totals_pkey";
ALTER TABLE "project_count_totals"
  RENAME CONSTRAINT "project_counts_user_id_fkey" TO "project_count_totals_user_id_fkey";

CREATE VIEW "quota_usage" AS
  SELECT user_id, quota, sum(used)::bigint AS used
  FROM (
    SELECT user_id, quota, used FROM quota_totals
    UNION ALL SELECT user_id, quota, change FROM quota_changes
  ) parts
  GROUP BY user_id, quota;
CREATE VIEW "project_counts" AS
  SELECT user_id, status, count FROM project_count_totals
  UNION ALL SELECT user_id, status, change FROM project_count_changes;

CREATE OR REPLACE FUNCTION quota_used(name text, owner text)
RETURNS bigint
LANGUAGE sql
AS $function$
  SELECT coalesce((SELECT used FROM quota_totals t WHERE t.user_id = owner AND t.quota = name), 0)
    + coalesce(
      (SELECT sum(c.change) FROM quota_changes c WHERE c.user_id = owner AND c.quota = name), 0
    )::bigint
$function$;

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
    AND quota_used(name, owner) + 2 * places < most THEN
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

CREATE OR REPLACE FUNCTION count_members()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE projects p SET member_count = p.member_count + d.n
      FROM (SELECT project_id, count(*)::int AS n FROM added GROUP BY project_id) d WHERE p.id =
        d.project_id;
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, count(*)::int FROM added GROUP BY 1, 2;
  ELSIF TG_OP = 'DELETE' THEN
    UPDATE projects p SET member_count = p.member_count - d.n
      FROM (SELECT project_id, count(*)::int AS n FROM removed GROUP BY project_id) d WHERE p.id =
        d.project_id;
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, -count(*)::int FROM removed GROUP BY 1, 2;
  ELSE
    INSERT INTO project_count_changes (user_id, status, change)
      SELECT user_id, project_status, sum(n)::int FROM (
        SELECT user_id, project_status, 1 AS n FROM added
        UNION ALL SELECT user_id, project_status, -1 FROM removed
      ) d GROUP BY 1, 2 HAVING sum(n) <> 0;
  END IF;
  RETURN NULL;
END $function$;
