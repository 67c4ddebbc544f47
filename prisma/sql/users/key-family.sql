-- A subquery with the ids of a key, of the keys made with it, directly or through other keys, and of all keys
-- that replaced one of them or were replaced by one of them in a rotation.
WITH RECURSIVE family AS (
  SELECT id, replaced_by FROM api_keys WHERE id = :family_of
  UNION
  SELECT c.id, c.replaced_by FROM family f
    JOIN api_keys c ON c.created_by_key = f.id OR c.id = f.replaced_by OR c.replaced_by = f.id
)
SELECT id FROM family
