-- The customers of a seller with these ids, or with these ids of the seller's own, and their times. Others
-- are deleted, of another seller, or do not exist.
-- @many
SELECT c.id, c.external_id,
  payments_now() + c.clock_offset * interval '1 millisecond' AS "now!"
FROM customers c
WHERE c.deleted_at IS NULL AND c.organization_id IS NOT DISTINCT FROM :organization_id?::text
  AND c.id = ANY(ARRAY(
    SELECT unnest(:ids::text[])
    UNION ALL
    SELECT id FROM customers
    WHERE external_id = ANY(:external_ids::text[]) AND deleted_at IS NULL
      AND organization_id = :organization_id?
    UNION ALL
    SELECT id FROM customers
    WHERE external_id = ANY(:external_ids::text[]) AND deleted_at IS NULL AND organization_id IS NULL
      AND :organization_id?::text IS NULL))
