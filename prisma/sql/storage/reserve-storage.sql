-- Adds to a reservation, or begins it: at most `most_bytes`, null when fewer than `least_bytes` are left.
-- @one
SELECT reserve_storage(:id, :workspace_id, :least_bytes, :most_bytes, :quota, :seconds) AS "bytes?"
