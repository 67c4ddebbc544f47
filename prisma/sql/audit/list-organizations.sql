-- The organizations that entries belong to, by the number of the entry: the organization in the path, that of
-- the project or of the service account in the path, or that of the service account that sent the request. A
-- refused request belongs to the organization only if its user is a member: strangers cannot write into the
-- log.
-- @many
SELECT e.n::int AS "n!", o.id AS organization_id
FROM unnest(:users[?]::text[], :organizations[?]::text[], :projects[?]::text[], :accounts[?]::text[],
    :done::boolean[]) WITH ORDINALITY AS e (user_id, organization_id, project_id, account_id, done, n)
  LEFT JOIN service_accounts s ON s.id = e.account_id
  LEFT JOIN service_accounts sender ON sender.user_id = e.user_id
  LEFT JOIN projects p ON p.id = coalesce(e.project_id, s.project_id, sender.project_id)
  JOIN organizations o
    ON o.id = coalesce(e.organization_id, s.organization_id, p.organization_id, sender.organization_id)
WHERE e.done
  OR EXISTS (
    SELECT FROM organization_members m
    WHERE m.organization_id = o.id AND m.user_id = e.user_id AND m.status = 'active')
  OR EXISTS (SELECT FROM members m WHERE m.project_id = p.id AND m.user_id = e.user_id)
