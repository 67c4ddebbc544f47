-- Queues an e-mail.
-- @none
INSERT INTO mails (id, kind, recipient, user_id, secret, resource_id, created_at)
VALUES (:id, :kind, :recipient, :user_id?, :secret?, :resource_id?, :created_at::timestamptz)
