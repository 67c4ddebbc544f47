-- Queues an e-mail.
-- @none
INSERT INTO mails (id, kind, recipient, user_id, secret, created_at)
VALUES (:id, :kind, :recipient, :user_id?, :secret?, :created_at::timestamptz)
