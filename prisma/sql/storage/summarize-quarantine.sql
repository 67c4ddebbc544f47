-- The blobs in quarantine by reason.
-- @many
SELECT reason, count(*)::int AS n, sum(bytes)::bigint AS "bytes!", min(since) AS "since!"
FROM quarantined_blobs GROUP BY reason ORDER BY reason
