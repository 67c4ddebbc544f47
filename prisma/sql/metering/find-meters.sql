-- The meters of a seller with these keys. One of unique values is locked, shared, until the transaction ends:
-- voiding one of its events waits.
-- @many
-- @type aggregation Schemas['Meter']['aggregation']
SELECT m.key, m.id, m.aggregation, m.property, m.dimensions AS "dimensions!", m.active,
  m.source IS NOT NULL AS "is_fed!",
  CASE WHEN m.aggregation = 'unique'
    THEN pg_advisory_xact_lock_shared(hashtextextended('usage of ' || m.id, 0)) END::text AS locked
FROM meters m
WHERE m.id = ANY(ARRAY(
  SELECT id FROM meters WHERE key = ANY(:keys::text[]) AND organization_id = :organization_id?
  UNION ALL
  SELECT id FROM meters
  WHERE key = ANY(:keys::text[]) AND organization_id IS NULL AND :organization_id?::text IS NULL))
ORDER BY m.id
