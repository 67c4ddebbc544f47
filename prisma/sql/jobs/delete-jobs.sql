-- Deletes jobs, except those that were fetched again.
-- @many
DELETE FROM jobs j USING unnest(:ids::uuid[], :fetches::int[]) AS own (id, fetches)
WHERE j.id = ANY(ARRAY(SELECT unnest(:ids::uuid[]))) AND j.id = own.id AND j.fetches = own.fetches
RETURNING j.id
