-- Whether a user is a service account.
-- @optional
SELECT id FROM service_accounts WHERE user_id = :id
