-- The columns of a Passkey, from passkeys p.
p.id, p.user_id, p.name, p.synced, p.created_at, p.updated_at, p.last_used_at
