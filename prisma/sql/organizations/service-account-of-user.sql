-- The service account that a user is.
-- @optional
SELECT {service-account-columns}
FROM service_accounts s JOIN users u ON u.id = s.user_id
WHERE s.user_id = :user_id AND s.deleted_at IS NULL
