-- Updates a locked service account and the name of its user.
-- @one
WITH u AS (UPDATE users SET name = :name WHERE id = :user_id RETURNING id, name),
s AS (UPDATE service_accounts SET metadata = :metadata, updated_at = now() WHERE id = :id RETURNING *)
SELECT {service-account-columns} FROM s JOIN u ON u.id = s.user_id
