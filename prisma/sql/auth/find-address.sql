-- The verified email address of an active person. Another may belong to a stranger, and that of a service
-- account receives no e-mails.
-- @optional
SELECT u.email AS "email!" FROM users u
WHERE u.id = :user_id AND u.status = 'active' AND u.email_verified
  AND NOT EXISTS (SELECT 1 FROM service_accounts s WHERE s.user_id = u.id)
