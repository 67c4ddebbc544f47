-- Counts an attempt to sign in with a password, before the password is checked. The row is written whether or
-- not the address has an account. No row if the network must wait: after five wrong passwords a second, then
-- twice as long each time, up to 15 minutes. `before` are the wrong passwords from all networks before it.
-- @optional
INSERT INTO sign_in_failures AS f (account, network, failures, failed_at)
VALUES (decode(:account, 'hex'), :network, 1, now())
ON CONFLICT (account, network) DO UPDATE SET
  failures = CASE WHEN f.failed_at < now() - interval '1 day' THEN 1 ELSE f.failures + 1 END,
  failed_at = now()
WHERE f.failures < 5
  OR f.failed_at <= now() - least(interval '15 minutes',
    interval '1 second' * power(2, least(f.failures - 5, 10)))
RETURNING f.failures, {failures} AS "before!"
