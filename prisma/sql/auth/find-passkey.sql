-- A passkey by the id that its device gave it, with what verifies its signatures.
-- @optional
SELECT p.id, p.user_id, encode(p.public_key, 'base64') AS "public_key!", p.counter
FROM passkeys p WHERE p.credential = :credential
