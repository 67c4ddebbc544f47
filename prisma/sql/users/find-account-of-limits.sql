-- The account whose limits of use a user shares.
-- @one
SELECT limits_of(:user_id) AS "account_id!"
