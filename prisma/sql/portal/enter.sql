-- Uses up the link of a portal session: from now on its cookie counts. No row if the link has ended.
-- @optional
UPDATE portal_sessions SET cookie_digest = :cookie_digest, updated_at = now(),
  expires_at = now() + :seconds * interval '1 second'
WHERE digest = :digest AND cookie_digest IS NULL AND expires_at > now()
RETURNING id
