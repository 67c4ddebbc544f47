-- Changes the `owner_id` of a project if it is this user.
-- @none
UPDATE projects SET owner_id = :new_owner_id, version = version + 1,
  updated_at = {times/next-updated-at}
WHERE id = :id AND owner_id = :owner_id
