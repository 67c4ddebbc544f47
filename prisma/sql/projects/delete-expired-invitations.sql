-- Deletes a batch of invitations that expired thirty days ago: until then they can be sent again.
-- @one
WITH deleted AS (
  DELETE FROM invitations WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM invitations WHERE status = 'pending' AND expires_at < now() - interval '30 days'
    LIMIT :limit FOR UPDATE SKIP LOCKED
  ))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted
