-- The wrong codes of a user from all networks, and whether the user has a session from this one.
-- @optional
SELECT {failures} AS "failures!", {is-known} AS "is_known!" FROM users u WHERE u.id = :user_id
