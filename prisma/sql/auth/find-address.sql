-- The email address of an active person. Service accounts have none that receives e-mails.
-- @optional
SELECT u.email AS "email!" FROM users u
WHERE u.id = :user_id AND u.status = 'active'
  AND NOT EXISTS (SELECT 1 FROM service_accounts s WHERE s.user_id = u.id)
