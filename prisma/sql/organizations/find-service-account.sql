-- A service account.
-- @optional
SELECT {service-account-columns}
FROM service_accounts s JOIN users u ON u.id = s.user_id
WHERE s.id = :id AND s.deleted_at IS NULL
