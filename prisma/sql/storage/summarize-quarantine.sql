-- The blobs in quarantine by reason, without those that a row refers to.
-- @many
SELECT k.reason, count(*)::int AS n, sum(k.bytes)::bigint AS "bytes!", min(k.since) AS "since!"
FROM quarantined_blobs k WHERE NOT {is-known-blob} GROUP BY k.reason ORDER BY k.reason
