-- Locks an upload link until the transaction ends. Returns how many uploads by it are in progress (`open`),
-- and how many it may still take (`left`).
-- @one
SELECT {open-link-uploads link=l.id} + (
    SELECT count(*) FROM storage_reservations r WHERE r.workspace_id = l.id AND r.held_until > now()
  )::int AS "open!",
  coalesce(l.max_files, 2147483647) - l.file_count AS "left!"
FROM upload_links l WHERE l.id = :id
FOR NO KEY UPDATE
