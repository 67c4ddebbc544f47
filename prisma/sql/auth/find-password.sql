-- An active user by email address, with the hash of the password. `failures` are the wrong passwords from all
-- networks that had one in the last day. `is_known` is true if the user has a session from the network.
-- @optional
SELECT u.id, p.hash, {failures} AS "failures!", {is-known} AS "is_known!"
FROM users u JOIN user_passwords p ON p.user_id = u.id
WHERE u.email = :email AND u.status = 'active'
