-- Adds to a reservation in a workspace, or begins it: as many bytes as are left of the quota, at most
-- `most_bytes`.
-- Returns null and reserves nothing when fewer than `least_bytes` are left.
CREATE OR REPLACE FUNCTION reserve_storage(
  reservation text, workspace text, least_bytes bigint, most_bytes bigint, quota bigint, seconds integer
)
RETURNS bigint
LANGUAGE plpgsql
AS $function$
DECLARE
  granted bigint;
BEGIN
  granted := least(most_bytes, quota - (SELECT l.used FROM lock_storage(workspace, NULL) l));
  IF granted < least_bytes THEN
    RETURN NULL;
  END IF;
  INSERT INTO storage_reservations AS r (id, workspace_id, bytes, held_until)
  VALUES (reservation, workspace, granted, now() + make_interval(secs => seconds))
  ON CONFLICT (id) DO UPDATE SET bytes = r.bytes + excluded.bytes, held_until = excluded.held_until;
  RETURN granted;
END $function$;
