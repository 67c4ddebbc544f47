-- Makes every blob wait for the whole time of the quarantine again.
-- @one
WITH waiting AS (UPDATE quarantined_blobs SET since = now() RETURNING 1)
SELECT count(*)::int AS n FROM waiting
