-- A session whose refresh token with a number was first used less than `seconds` ago, if its latest refresh
-- came from the network. A time in the future, by a clock that jumped, does not count.
-- @optional
SELECT {session-columns}, s.in_cookie
FROM sign_ins s JOIN users u ON u.id = s.user_id
WHERE s.id = :id AND s.network = :network AND s.expires_at > now() AND u.status = 'active'
  AND s.refreshed_at[cardinality(s.refreshed_at) - (s.generation - :generation) + 1]
    BETWEEN now() - interval '1 second' * :seconds AND now() + interval '1 second' * :seconds
