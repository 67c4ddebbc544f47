-- Notes that a passkey was used to sign in. No row if it was removed, or if a copy of it has signed
-- meanwhile.
-- @optional
UPDATE passkeys p SET counter = :counter, last_used_at = now()
WHERE p.id = :id AND (p.counter < :counter OR (p.counter = 0 AND :counter = 0))
RETURNING p.user_id
