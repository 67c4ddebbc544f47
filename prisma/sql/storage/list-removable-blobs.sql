-- Blobs whose quarantine is over: the sweep found them, and nothing refers to them. In the order of their
-- keys, those after a key. None when another sweep has begun.
-- @many
SELECT k.key, k.bytes FROM quarantined_blobs k
WHERE k.sweep_id = :sweep_id AND k.sweep_id = (SELECT sweep_id FROM database_identity)
  AND k.since <= now() - make_interval(days => :days) AND k.key > :after AND NOT {is-known-blob}
ORDER BY k.key LIMIT :limit
