-- An expression: how the request of the entry a ended.
CASE WHEN a.status IN (401, 403) THEN 'refused' WHEN a.status >= 400 THEN 'failed' ELSE 'done' END
