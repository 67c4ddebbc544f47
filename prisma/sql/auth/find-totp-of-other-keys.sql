-- Second factors after `after` with a secret that was not encrypted with the current key. `pattern` fits the
-- secrets that were.
-- @many
SELECT user_id, secret FROM user_totp
WHERE user_id > :after AND secret NOT LIKE :pattern
ORDER BY user_id LIMIT :count
