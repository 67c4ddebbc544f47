-- For the jobs that look for them.
CREATE INDEX api_keys_expiring ON api_keys (expires_at) WHERE revoked_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX invitations_expiring ON invitations (expires_at) WHERE status = 'pending';
