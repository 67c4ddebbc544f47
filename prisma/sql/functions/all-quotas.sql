-- The quotas that triggers count, a row each. `count-quota.sql`, which runs after this file, creates the
-- triggers.
--   source    the table whose rows count
--   owner     the user or organization that a row counts for, as an expression
--   amount    what the rows of an owner come to, as an aggregate
--   counted   which rows count, as a condition
--   changed   the columns whose change gives a row another owner or amount, or changes whether it counts; or
--             null
--   refunded  whether a deleted row frees its place
CREATE OR REPLACE FUNCTION all_quotas(OUT quota text, OUT source text, OUT owner text, OUT amount text,
  OUT counted text, OUT changed text, OUT refunded boolean)
RETURNS SETOF record
LANGUAGE sql
IMMUTABLE
AS $function$
  VALUES
    ('api_keys', 'api_keys', 'user_id', 'count(*)', 'revoked_at IS NULL', 'revoked_at', true),
    ('projects', 'projects', 'coalesce(organization_id, owner_id)', 'count(*)', 'true',
      'owner_id, organization_id', true),
    ('members', 'members', 'created_by', 'count(*)', 'created_by IS NOT NULL', NULL, true),
    ('invitations', 'invitations', 'created_by', 'count(*)', 'status = ''pending''', 'status', true),
    ('webhook_endpoints', 'webhook_endpoints', 'user_id', 'count(*)', 'deleted_at IS NULL', 'deleted_at',
      true),
    ('files', 'files', 'owner_id', 'count(*)', 'true', 'owner_id', true),
    ('file_links', 'file_links', 'created_by', 'count(*)', 'revoked_at IS NULL', 'revoked_at', true),
    ('upload_links', 'upload_links', 'owner_id', 'count(*)', 'revoked_at IS NULL', 'revoked_at', true),
    ('uploads', 'uploads', 'user_id', 'count(*)', 'file_id IS NULL', 'file_id', true),
    ('knowledge_bases', 'knowledge_bases', 'owner_id', 'count(*)', 'true', 'owner_id', true),
    ('documents', 'documents', 'owner_id', 'count(*)', 'true', NULL, true),
    ('document_bytes', 'documents', 'owner_id', 'sum(bytes)', 'true', 'bytes', true),
    ('sessions', 'ai_sessions', 'owner_id', 'count(*)', 'true', 'owner_id', true),
    ('messages', 'ai_messages', 'user_id', 'count(*)', 'true', NULL, true),
    ('pending_orders', 'orders', 'coalesce(owner_id, customer_id)', 'count(*)',
      'status = ''pending'' AND created_by IS NOT NULL', 'status', true),
    ('subscriptions', 'subscriptions', 'coalesce(owner_id, customer_id)', 'count(*)', 'ended_at IS NULL',
      'ended_at', true),
    ('customers', 'customers', 'coalesce(organization_id, created_by)', 'count(*)',
      'deleted_at IS NULL AND coalesce(organization_id, created_by) IS NOT NULL', 'deleted_at', true),
    ('meters', 'meters', 'coalesce(organization_id, created_by)', 'count(*)',
      'coalesce(organization_id, created_by) IS NOT NULL', NULL, true),
    ('features', 'features', 'coalesce(organization_id, created_by)', 'count(*)',
      'coalesce(organization_id, created_by) IS NOT NULL', NULL, true),
    ('products', 'products', 'organization_id', 'count(*)', 'organization_id IS NOT NULL', NULL, true),
    ('prices', 'prices', 'organization_id', 'count(*)', 'organization_id IS NOT NULL', NULL, true),
    ('organizations', 'organizations', 'created_by', 'count(*)', 'true', NULL, false),
    ('organization_members', 'organization_members', 'created_by', 'count(*)', 'created_by IS NOT NULL',
      'created_by', true),
    ('custom_roles', 'custom_roles', 'created_by', 'count(*)', 'true', NULL, true),
    ('service_accounts', 'service_accounts', 'account_id', 'count(*)', 'deleted_at IS NULL',
      'deleted_at, account_id', true)
$function$;
