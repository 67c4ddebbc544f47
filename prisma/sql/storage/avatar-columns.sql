-- The columns of an avatar.
-- @type variants Omit<Schemas['AvatarVariant'], 'url'>[]
id, variants, updated_at
