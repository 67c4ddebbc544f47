-- The id of this database, its last sweep, and whether the next sweep is due.
-- @one
SELECT database_id, sweep_id, coalesce(swept_at <= now() - make_interval(hours => :hours), true) AS is_due
FROM database_identity
