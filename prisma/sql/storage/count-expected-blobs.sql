-- How many blobs the store has at most, roughly: several files may have one blob.
-- @one
SELECT ((SELECT coalesce(sum(files + versions), 0) FROM storage_usage) + 3 * (SELECT count(*) FROM avatars)
  + (SELECT count(*) FROM account_exports WHERE blob_key IS NOT NULL)
  + (SELECT count(*) FROM quarantined_blobs WHERE reason = 'deleted'))::bigint AS "n!"
