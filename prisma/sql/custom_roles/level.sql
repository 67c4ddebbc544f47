-- The access of a custom role in an area, by the name in the API.
CASE {of} WHEN 'viewer' THEN 'read' WHEN 'editor' THEN 'write' WHEN 'admin' THEN 'admin' ELSE 'none' END
