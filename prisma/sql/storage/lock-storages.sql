-- Locks the storage of workspaces, in the order of the array: see `lock-storage`.
-- @one
SELECT count(l.used)::int AS "n!"
FROM unnest(:workspace_ids::text[]) AS w (id), LATERAL lock_storage(w.id, NULL) l
