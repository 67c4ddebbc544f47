-- Inserts a service account with its user.
-- @one
WITH u AS (
  INSERT INTO users (id, email, name, created_at, updated_at)
  VALUES (:user_id, :email, :name, :created_at, :created_at)
  RETURNING *
), s AS (
  INSERT INTO service_accounts
    (id, user_id, organization_id, project_id, account_id, metadata, created_by, created_at)
  SELECT :id, u.id, :organization_id?, :project_id?, :account_id, :metadata, :created_by, :created_at FROM u
  RETURNING *
), settings AS (
  INSERT INTO settings (user_id, updated_at) SELECT u.id, :created_at FROM u
)
SELECT {service-account-columns} FROM s CROSS JOIN u
