-- Like `read-files`, but locks the files against other writers, in the order of their ids.
-- @many
SELECT {file-columns}, f.blob_key, u.status AS owner_status, {projects/access row=f role=storage_role}
FROM files f JOIN users u ON u.id = f.owner_id
WHERE f.id = ANY(:ids)
  AND ((:visible::boolean AND {is-visible}) OR (:trashed::boolean AND {is-in-trash}))
ORDER BY f.id
FOR NO KEY UPDATE OF f
