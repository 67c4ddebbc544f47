-- Counts what a user has of a limited resource, and refuses more than the limit.
-- Arguments of the trigger: the quota, whose it is as an expression, the amount as an aggregate, and which
-- rows count.
CREATE OR REPLACE FUNCTION count_quota()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  changes refcursor;
  owner text;
  amount bigint;
  amounts text;
BEGIN
  -- The most frequent forms have statements whose plans are kept.
  CASE concat_ws(' ', TG_OP, TG_ARGV[1], TG_ARGV[2], TG_ARGV[3])
  WHEN 'INSERT owner_id count(*) true' THEN
    OPEN changes FOR SELECT owner_id, count(*) FROM added GROUP BY 1 ORDER BY 1;
  WHEN 'INSERT user_id count(*) true' THEN
    OPEN changes FOR SELECT user_id, count(*) FROM added GROUP BY 1 ORDER BY 1;
  WHEN 'INSERT coalesce(organization_id, owner_id) count(*) true' THEN
    OPEN changes FOR SELECT coalesce(organization_id, owner_id), count(*) FROM added GROUP BY 1 ORDER BY 1;
  WHEN 'INSERT created_by count(*) created_by IS NOT NULL' THEN
    OPEN changes FOR
      SELECT created_by, count(*) FROM added WHERE created_by IS NOT NULL GROUP BY 1 ORDER BY 1;
  ELSE
    amounts := format('SELECT %s AS owner, (%s)::bigint AS amount FROM %%s WHERE %s GROUP BY 1',
      TG_ARGV[1], TG_ARGV[2], TG_ARGV[3]);
    IF TG_OP = 'INSERT' THEN
      OPEN changes FOR EXECUTE format(amounts, 'added') || ' ORDER BY 1';
    ELSIF TG_OP = 'DELETE' THEN
      OPEN changes FOR EXECUTE
        format('SELECT owner, -amount FROM (%s) r ORDER BY 1', format(amounts, 'removed'));
    ELSE
      OPEN changes FOR EXECUTE format(
        'SELECT owner, sum(amount)::bigint FROM (%s UNION ALL SELECT owner, -amount FROM (%s) old) moved
        GROUP BY 1 HAVING sum(amount) <> 0 ORDER BY 1',
        format(amounts, '(SELECT ($2).*) now'), format(amounts, '(SELECT ($1).*) before')
      ) USING OLD, NEW;
    END IF;
  END CASE;
  LOOP
    FETCH changes INTO owner, amount;
    EXIT WHEN NOT FOUND;
    -- A row that changes its owner, such as a project of a deleted user, is not refused. A transfer of a
    -- project is.
    PERFORM change_quota(TG_ARGV[0], owner, amount, CASE TG_OP
      WHEN 'INSERT' THEN true
      WHEN 'DELETE' THEN false
      ELSE amount > 0 AND current_setting('platform.transfer', true) = 'on'
    END);
  END LOOP;
  CLOSE changes;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER quota_api_keys_added AFTER INSERT ON api_keys
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('api_keys', 'user_id', 'count(*)',
    'revoked_at IS NULL');

CREATE OR REPLACE TRIGGER quota_api_keys_removed AFTER DELETE ON api_keys
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('api_keys', 'user_id', 'count(*)',
    'revoked_at IS NULL');

CREATE OR REPLACE TRIGGER quota_api_keys_moved AFTER UPDATE OF revoked_at ON api_keys
  FOR EACH ROW EXECUTE FUNCTION count_quota('api_keys', 'user_id', 'count(*)',
    'revoked_at IS NULL');

CREATE OR REPLACE TRIGGER quota_projects_added AFTER INSERT ON projects
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('projects', 'coalesce(organization_id, owner_id)',
    'count(*)', 'true');

CREATE OR REPLACE TRIGGER quota_projects_removed AFTER DELETE ON projects
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('projects', 'coalesce(organization_id, owner_id)',
    'count(*)', 'true');

CREATE OR REPLACE TRIGGER quota_projects_moved AFTER UPDATE OF owner_id, organization_id ON projects
  FOR EACH ROW EXECUTE FUNCTION count_quota('projects', 'coalesce(organization_id, owner_id)',
    'count(*)', 'true');

CREATE OR REPLACE TRIGGER quota_members_added AFTER INSERT ON members
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('members', 'created_by', 'count(*)',
    'created_by IS NOT NULL');

CREATE OR REPLACE TRIGGER quota_members_removed AFTER DELETE ON members
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('members', 'created_by', 'count(*)',
    'created_by IS NOT NULL');

CREATE OR REPLACE TRIGGER quota_invitations_added AFTER INSERT ON invitations
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('invitations', 'created_by', 'count(*)',
    'status = ''pending''');

CREATE OR REPLACE TRIGGER quota_invitations_removed AFTER DELETE ON invitations
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('invitations', 'created_by', 'count(*)',
    'status = ''pending''');

CREATE OR REPLACE TRIGGER quota_invitations_moved AFTER UPDATE OF status ON invitations
  FOR EACH ROW EXECUTE FUNCTION count_quota('invitations', 'created_by', 'count(*)',
    'status = ''pending''');

CREATE OR REPLACE TRIGGER quota_webhook_endpoints_added AFTER INSERT ON webhook_endpoints
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('webhook_endpoints', 'user_id', 'count(*)',
    'deleted_at IS NULL');

CREATE OR REPLACE TRIGGER quota_webhook_endpoints_removed AFTER DELETE ON webhook_endpoints
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('webhook_endpoints', 'user_id', 'count(*)',
    'deleted_at IS NULL');

CREATE OR REPLACE TRIGGER quota_webhook_endpoints_moved AFTER UPDATE OF deleted_at ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION count_quota('webhook_endpoints', 'user_id', 'count(*)',
    'deleted_at IS NULL');

CREATE OR REPLACE TRIGGER quota_files_added AFTER INSERT ON files
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('files', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_files_removed AFTER DELETE ON files
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('files', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_files_moved AFTER UPDATE OF owner_id ON files
  FOR EACH ROW EXECUTE FUNCTION count_quota('files', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_file_links_added AFTER INSERT ON file_links
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('file_links', 'created_by', 'count(*)',
    'revoked_at IS NULL');

CREATE OR REPLACE TRIGGER quota_file_links_removed AFTER DELETE ON file_links
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('file_links', 'created_by', 'count(*)',
    'revoked_at IS NULL');

CREATE OR REPLACE TRIGGER quota_file_links_moved AFTER UPDATE OF revoked_at ON file_links
  FOR EACH ROW EXECUTE FUNCTION count_quota('file_links', 'created_by', 'count(*)',
    'revoked_at IS NULL');

CREATE OR REPLACE TRIGGER quota_uploads_added AFTER INSERT ON uploads
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('uploads', 'user_id', 'count(*)',
    'file_id IS NULL');

CREATE OR REPLACE TRIGGER quota_uploads_removed AFTER DELETE ON uploads
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('uploads', 'user_id', 'count(*)',
    'file_id IS NULL');

CREATE OR REPLACE TRIGGER quota_uploads_moved AFTER UPDATE OF file_id ON uploads
  FOR EACH ROW EXECUTE FUNCTION count_quota('uploads', 'user_id', 'count(*)',
    'file_id IS NULL');

CREATE OR REPLACE TRIGGER quota_knowledge_bases_added AFTER INSERT ON knowledge_bases
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('knowledge_bases', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_knowledge_bases_removed AFTER DELETE ON knowledge_bases
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('knowledge_bases', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_knowledge_bases_moved AFTER UPDATE OF owner_id ON knowledge_bases
  FOR EACH ROW EXECUTE FUNCTION count_quota('knowledge_bases', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_documents_added AFTER INSERT ON documents
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('documents', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_documents_removed AFTER DELETE ON documents
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('documents', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_document_bytes_added AFTER INSERT ON documents
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('document_bytes', 'owner_id', 'sum(bytes)',
    'true');

CREATE OR REPLACE TRIGGER quota_document_bytes_removed AFTER DELETE ON documents
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('document_bytes', 'owner_id', 'sum(bytes)',
    'true');

CREATE OR REPLACE TRIGGER quota_sessions_added AFTER INSERT ON ai_sessions
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('sessions', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_sessions_removed AFTER DELETE ON ai_sessions
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('sessions', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_sessions_moved AFTER UPDATE OF owner_id ON ai_sessions
  FOR EACH ROW EXECUTE FUNCTION count_quota('sessions', 'owner_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_messages_added AFTER INSERT ON ai_messages
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('messages', 'user_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_messages_removed AFTER DELETE ON ai_messages
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('messages', 'user_id', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_pending_orders_added AFTER INSERT ON orders
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('pending_orders', 'owner_id', 'count(*)',
    'status = ''pending''');

CREATE OR REPLACE TRIGGER quota_pending_orders_removed AFTER DELETE ON orders
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('pending_orders', 'owner_id', 'count(*)',
    'status = ''pending''');

CREATE OR REPLACE TRIGGER quota_pending_orders_moved AFTER UPDATE OF status ON orders
  FOR EACH ROW EXECUTE FUNCTION count_quota('pending_orders', 'owner_id', 'count(*)',
    'status = ''pending''');

CREATE OR REPLACE TRIGGER quota_organizations_added AFTER INSERT ON organizations
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('organizations', 'created_by', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_organization_members_added AFTER INSERT ON organization_members
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('organization_members', 'created_by', 'count(*)',
    'created_by IS NOT NULL');

CREATE OR REPLACE TRIGGER quota_organization_members_removed AFTER DELETE ON organization_members
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('organization_members', 'created_by', 'count(*)',
    'created_by IS NOT NULL');

CREATE OR REPLACE TRIGGER quota_custom_roles_added AFTER INSERT ON custom_roles
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('custom_roles', 'created_by', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_custom_roles_removed AFTER DELETE ON custom_roles
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('custom_roles', 'created_by', 'count(*)',
    'true');

CREATE OR REPLACE TRIGGER quota_service_accounts_added AFTER INSERT ON service_accounts
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('service_accounts', 'account_id', 'count(*)',
    'deleted_at IS NULL');

CREATE OR REPLACE TRIGGER quota_service_accounts_removed AFTER DELETE ON service_accounts
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_quota('service_accounts', 'account_id', 'count(*)',
    'deleted_at IS NULL');

CREATE OR REPLACE TRIGGER quota_service_accounts_moved
  AFTER UPDATE OF deleted_at, account_id ON service_accounts
  FOR EACH ROW EXECUTE FUNCTION count_quota('service_accounts', 'account_id', 'count(*)',
    'deleted_at IS NULL');
