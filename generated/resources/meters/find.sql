-- A meter.
-- @optional
SELECT {columns}
FROM meters t
WHERE t.id = :id
