-- Stores the response of a request.
-- @none
INSERT INTO idempotency_records (owner_id, key_digest, body_hash, status, answer)
VALUES (:owner_id, :key_digest, :body_hash, :status, :answer)
ON CONFLICT (owner_id, key_digest)
DO UPDATE SET body_hash = :body_hash, status = :status, answer = :answer, created_at = now()
