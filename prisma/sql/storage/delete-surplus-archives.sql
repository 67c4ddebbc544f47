-- Deletes all but the latest archives of a user.
-- @none
DELETE FROM archives WHERE id IN (
  SELECT id FROM archives WHERE owner_id = :owner_id ORDER BY id DESC OFFSET :kept
)
