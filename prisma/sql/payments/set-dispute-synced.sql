-- Records the time of a dispute's state at its gateway.
-- @none
UPDATE disputes SET synced_at = :synced_at WHERE id = :id
