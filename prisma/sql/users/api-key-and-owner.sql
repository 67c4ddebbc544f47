-- A key with what decides about its owner. `g`: the user whose role allows the scopes of operators, who is
-- the owner, or who made the key of a service account.
SELECT k.id, k.name, k.user_id, k.scopes, k.project_ids, k.all_projects, k.allowed_addresses,
  k.expires_at, k.revoked_at, u.status, a.status AS "account_status?",
  g.id AS "grantor_id?", coalesce(g.role = 'admin' AND g.status = 'active', false) AS may_operate,
  s.id AS "service_account_id?", coalesce(o.limits_of, s.account_id) AS "limits_of?"
FROM api_keys k JOIN users u ON u.id = k.user_id LEFT JOIN service_accounts s ON s.user_id = u.id
  LEFT JOIN users g ON g.id = CASE WHEN s.id IS NULL THEN u.id ELSE k.created_by END
  LEFT JOIN users a ON a.id = s.account_id LEFT JOIN organizations o ON o.id = s.account_id
