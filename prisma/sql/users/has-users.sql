-- Whether there is a user, also a deleted one.
-- @one
SELECT EXISTS (SELECT FROM users) AS found;
