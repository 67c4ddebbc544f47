-- An API key by the digest of its secret, in hex, with what decides about its owner.
-- @optional
SELECT k.id, k.name, k.user_id, k.scopes, k.project_ids, k.all_projects, k.allowed_addresses,
  k.expires_at, k.revoked_at, u.status, u.role
FROM api_keys k JOIN users u ON u.id = k.user_id
WHERE k.digest = decode(:digest, 'hex')
