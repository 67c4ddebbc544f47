-- The bytes of uploads in progress count against the quota of their workspace.
CREATE TABLE "storage_reservations" (
    "id" TEXT NOT NULL,
    "space_id" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "held_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "storage_reservations_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "storage_reservations_space_id_idx" ON "storage_reservations"("space_id");
CREATE INDEX "uploads_unfinished_idx" ON "uploads"("space_id") WHERE "file_id" IS NULL;

-- The bytes that count against the quota of a workspace: its files, the whole length of its unfinished
-- uploads (`taken`), and with them the bytes that uploads in progress have reserved (`used`). `besides` is the
-- id of an upload or a reservation that does not count. A reservation that its server no longer renews has
-- ended.
CREATE OR REPLACE FUNCTION storage_use(space text, besides text, OUT taken bigint, OUT used bigint)
LANGUAGE sql
STABLE
AS $function$
  SELECT t.taken, t.taken + coalesce((
    SELECT sum(bytes) FROM storage_reservations
    WHERE space_id = space AND held_until > now() AND id IS DISTINCT FROM besides
  ), 0)::bigint
  FROM (SELECT (
    coalesce((SELECT bytes FROM storage_usage WHERE space_id = space), 0)
    + coalesce((
      SELECT sum(length) FROM uploads
      WHERE space_id = space AND file_id IS NULL AND expires_at > now() AND id IS DISTINCT FROM besides
    ), 0)
  )::bigint AS taken) t
$function$;

-- Makes the transactions that take storage in a workspace wait for each other, and reads what is taken: see
-- `storage_use`.
CREATE OR REPLACE FUNCTION lock_storage(space text, besides text, OUT taken bigint, OUT used bigint)
LANGUAGE plpgsql
AS $function$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('uploads ' || space, 0));
  SELECT u.taken, u.used INTO taken, used FROM storage_use(space, besides) u;
END $function$;

-- Adds to a reservation in a workspace, or begins it: as many bytes as are left of the quota, at most `most_bytes`.
-- Returns null and reserves nothing when fewer than `least_bytes` are left.
CREATE OR REPLACE FUNCTION reserve_storage(
  reservation text, space text, least_bytes bigint, most_bytes bigint, quota bigint, seconds integer
)
RETURNS bigint
LANGUAGE plpgsql
AS $function$
DECLARE
  granted bigint;
BEGIN
  granted := least(most_bytes, quota - (SELECT l.used FROM lock_storage(space, NULL) l));
  IF granted < least_bytes THEN
    RETURN NULL;
  END IF;
  INSERT INTO storage_reservations AS r (id, space_id, bytes, held_until)
  VALUES (reservation, space, granted, now() + make_interval(secs => seconds))
  ON CONFLICT (id) DO UPDATE SET bytes = r.bytes + excluded.bytes, held_until = excluded.held_until;
  RETURN granted;
END $function$;
