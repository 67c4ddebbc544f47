-- What the files and versions of workspaces come to, by workspace. {workspace}: of which one;
-- `workspace_id` for all.
(SELECT workspace_id, sum(files)::bigint AS files, sum(bytes)::bigint AS bytes,
    sum(trashed_files)::bigint AS trashed_files, sum(trashed_bytes)::bigint AS trashed_bytes,
    sum(versions)::bigint AS versions, sum(version_bytes)::bigint AS version_bytes
  FROM (
    SELECT workspace_id, count(*) AS files, sum(bytes) AS bytes, count(trashed_at) AS trashed_files,
      coalesce(sum(bytes) FILTER (WHERE trashed_at IS NOT NULL), 0) AS trashed_bytes,
      0 AS versions, 0 AS version_bytes
    FROM files WHERE workspace_id = {workspace} GROUP BY workspace_id
    UNION ALL
    SELECT workspace_id, 0, 0, 0, 0, count(*), sum(bytes)
    FROM file_versions WHERE workspace_id = {workspace} GROUP BY workspace_id
  ) parts GROUP BY workspace_id)
