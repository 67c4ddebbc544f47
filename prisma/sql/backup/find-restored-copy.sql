-- The backup that this database was restored from. None for a database that is no restored copy.
-- @optional
SELECT backup_id, backup_created_at, restored_at, confirmed_at FROM restored_copy
