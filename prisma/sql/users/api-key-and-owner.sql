-- A key with what decides about its owner.
SELECT k.id, k.name, k.user_id, k.scopes, k.project_ids, k.all_projects, k.allowed_addresses,
  k.expires_at, k.revoked_at, u.status, a.status AS "account_status?", u.role,
  s.id AS "service_account_id?", coalesce(o.limits_of, s.account_id) AS "limits_of?"
FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN service_accounts s ON s.user_id = u.id
  LEFT JOIN users a ON a.id = s.account_id LEFT JOIN organizations o ON o.id = s.account_id
