-- A row if the key `id` belongs to the family of the key `family_of`.
-- @optional
SELECT true AS found FROM api_keys k WHERE k.id = :id AND k.id IN ({key-family})
