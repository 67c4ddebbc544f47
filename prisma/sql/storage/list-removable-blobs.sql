-- Blobs whose quarantine is over: the sweep found them, and nothing refers to them. In the order of their
-- keys, those after a key. None when another sweep has begun.
-- @many
SELECT k.key, k.bytes FROM quarantined_blobs k JOIN database_identity i ON i.sweep_id = k.sweep_id
WHERE k.sweep_id = :sweep_id
  AND greatest(k.since, i.quarantine_restarted_at) <= now() - make_interval(days => :days)
  AND k.key > :after AND NOT {is-known-blob}
ORDER BY k.key LIMIT :limit
