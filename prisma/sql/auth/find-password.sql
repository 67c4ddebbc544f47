-- An active user by email address, with the hash of the password. `failures` are the wrong passwords of the
-- last day from all networks. `is_known` tells whether the user has a session from the network.
-- @optional
SELECT u.id, p.hash,
  (SELECT coalesce(sum(f.failures), 0) FROM sign_in_failures f
    WHERE f.account = decode(:account, 'hex') AND f.failed_at > now() - interval '1 day')::int AS "failures!",
  EXISTS (SELECT 1 FROM sign_ins s WHERE s.user_id = u.id AND s.network = :network) AS "is_known!"
FROM users u JOIN user_passwords p ON p.user_id = u.id
WHERE u.email = :email AND u.status = 'active'
