-- Adds a passkey. No row if it exists.
-- @optional
INSERT INTO passkeys AS p (id, user_id, name, credential, public_key, counter, transports, synced, created_at,
  updated_at)
VALUES (:id, :user_id, :name, :credential, decode(:public_key, 'base64'), :counter, :transports::text[],
  :synced, :created_at::timestamptz, :created_at::timestamptz)
ON CONFLICT (credential) DO NOTHING
RETURNING {passkey-columns}
