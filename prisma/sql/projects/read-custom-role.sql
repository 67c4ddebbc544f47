-- The organization of a custom role, and what it allows in each area.
-- @optional
SELECT organization_id, projects AS role, storage AS storage_role, ai AS ai_role, payments AS payments_role
FROM custom_roles WHERE id = :id
