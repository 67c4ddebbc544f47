-- The blobs of avatars in the order of their ids, those after an id.
-- @many
-- @type variants Schemas['AvatarVariant'][]
SELECT a.id, a.variants, a.updated_at < :before AS is_counted
FROM avatars a WHERE a.id > :after ORDER BY a.id LIMIT :limit
