-- The bytes that count against the quota of a workspace: its files and their versions, the whole length of
-- its unfinished uploads (`taken`), and with them the bytes that uploads in progress have reserved (`used`).
-- `besides` is the id of an upload or a reservation that does not count. A reservation that its server no
-- longer renews has ended.
CREATE OR REPLACE FUNCTION storage_use(workspace text, besides text, OUT taken bigint, OUT used bigint)
LANGUAGE sql
STABLE
AS $function$
  SELECT t.taken, t.taken + coalesce((
    SELECT sum(bytes) FROM storage_reservations
    WHERE workspace_id = workspace AND held_until > now() AND id IS DISTINCT FROM besides
  ), 0)::bigint
  FROM (SELECT (
    coalesce((SELECT bytes + version_bytes FROM storage_usage WHERE workspace_id = workspace), 0)
    + coalesce((
      SELECT sum(length) FROM uploads
      WHERE workspace_id = workspace AND file_id IS NULL AND expires_at > now()
        AND id IS DISTINCT FROM besides
    ), 0)
  )::bigint AS taken) t
$function$;
