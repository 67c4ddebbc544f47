-- Notes that an identity was used to sign in.
-- @none
UPDATE identities i SET email = :email?, last_used_at = now(),
  updated_at = CASE WHEN i.email IS DISTINCT FROM :email? THEN now() ELSE i.updated_at END
WHERE i.provider = :provider AND i.subject = :subject
