-- The budgets that work with a model counts to, by its user, credential and project: those of the user, the
-- account of a service account, the key, the project, its organization, and the customers that these are.
CREATE OR REPLACE FUNCTION budgets_of(of_user text, credential text, project text)
RETURNS SETOF budgets
LANGUAGE plpgsql
STABLE
AS $function$
BEGIN
  RETURN QUERY SELECT b.* FROM budgets b WHERE b.subject_id IN (
    SELECT of_user
    UNION ALL SELECT account_of(of_user)
    UNION ALL SELECT credential
    UNION ALL SELECT project
    UNION ALL SELECT p.organization_id FROM projects p WHERE p.id = project
    UNION ALL SELECT c.id FROM customers c WHERE c.user_id IN (of_user, account_of(of_user))
      AND c.deleted_at IS NULL
    UNION ALL SELECT c.id FROM customers c JOIN projects p ON p.organization_id = c.buyer_organization_id
      WHERE p.id = project AND c.deleted_at IS NULL
  )
  ORDER BY b.id;
END $function$;
