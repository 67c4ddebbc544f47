-- Queues an e-mail. No row if one with the same key was queued before.
-- @optional
INSERT INTO mails (id, kind, recipient, user_id, secret, resource_id, subject, content, dedupe_key,
  created_at)
VALUES (:id, :kind, :recipient, :user_id?, :secret?, :resource_id?, :subject?, :content?,
  :dedupe_key?, :created_at::timestamptz)
ON CONFLICT (dedupe_key) DO NOTHING
RETURNING id
