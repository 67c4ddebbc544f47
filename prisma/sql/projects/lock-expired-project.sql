-- Locks an expired project for its deletion. Returns no row if another process has locked it.
-- @optional
SELECT p.id FROM projects p WHERE p.id = :id AND {is-expired} FOR UPDATE SKIP LOCKED
