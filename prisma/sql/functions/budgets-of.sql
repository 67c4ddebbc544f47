-- The budgets that work with a model counts to, by its user, credential and project: those of the user, the
-- account of a service account, the key, the keys that it replaced, that replaced it or that it was made
-- with, the project, its organization, and the customers that these are.
CREATE OR REPLACE FUNCTION budgets_of(of_user text, credential text, project text)
RETURNS SETOF budgets
LANGUAGE plpgsql
STABLE
AS $function$
BEGIN
  RETURN QUERY WITH RECURSIVE line AS (
    SELECT k.id, k.replaced_by, k.created_by_key FROM api_keys k WHERE k.id = credential
    UNION
    SELECT k.id, k.replaced_by, k.created_by_key FROM line l
      JOIN api_keys k ON k.id IN (l.created_by_key, l.replaced_by) OR k.replaced_by = l.id
  )
  SELECT b.* FROM budgets b WHERE b.subject_id IN (
    SELECT of_user
    UNION ALL SELECT account_of(of_user)
    UNION ALL SELECT l.id FROM line l
    UNION ALL SELECT project
    UNION ALL SELECT p.organization_id FROM projects p WHERE p.id = project
    UNION ALL SELECT c.id FROM customers c WHERE c.user_id IN (of_user, account_of(of_user))
      AND c.deleted_at IS NULL
    UNION ALL SELECT c.id FROM customers c JOIN projects p ON p.organization_id = c.buyer_organization_id
      WHERE p.id = project AND c.deleted_at IS NULL
  )
  ORDER BY b.id;
END $function$;
