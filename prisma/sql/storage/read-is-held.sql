-- Whether an upload is leased.
-- @optional
SELECT coalesce(held_until >= now(), false) AS is_held FROM uploads WHERE id = :id
