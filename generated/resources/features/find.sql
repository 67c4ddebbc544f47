-- A feature.
-- @optional
SELECT {columns}
FROM features t
WHERE t.id = :id
