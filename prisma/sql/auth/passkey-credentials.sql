-- The ids that devices gave to the passkeys of a user.
-- @many
SELECT p.credential FROM passkeys p WHERE p.user_id = :user_id
