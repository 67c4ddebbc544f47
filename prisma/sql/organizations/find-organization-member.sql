-- A member of an organization. `is_own`: whether the user is the member, or is invited by id or by verified
-- email address. `service_account_id`: null for a person.
-- @optional
SELECT {organization-member-columns},
  EXISTS (SELECT FROM users c WHERE c.id = :user_id
    AND (c.id = m.user_id OR (c.email = m.email AND c.email_verified))) AS "is_own!",
  (SELECT s.id FROM service_accounts s WHERE s.user_id = m.user_id) AS "service_account_id?"
FROM organization_members m {member-user}
WHERE m.id = :id AND m.organization_id = :organization_id
