-- The columns of an Identity, from identities i.
i.id, i.user_id, i.provider, i.email, i.created_at, i.updated_at, i.last_used_at
