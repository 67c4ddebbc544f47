-- `updated_at` is the time of the last change, and increases with every change. A new row has the time of its
-- creation. A change counts if the statement sets one of the columns that the trigger lists. The argument
-- `payments` selects the payment clock.
CREATE OR REPLACE FUNCTION set_updated_at()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'INSERT' THEN
    NEW.updated_at := NEW.created_at;
  ELSIF NEW IS DISTINCT FROM OLD THEN
    NEW.updated_at := greatest(
      CASE WHEN TG_ARGV[0] = 'payments' THEN payments_now() ELSE now() END,
      OLD.updated_at + interval '1 millisecond'
    );
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER ai_messages_set_updated_at BEFORE INSERT OR UPDATE OF content, status,
    finish_reason, prompt_tokens, completion_tokens, citations, error, metadata ON ai_messages
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER api_keys_set_updated_at BEFORE INSERT OR UPDATE OF name, scopes, project_ids,
    all_projects, allowed_addresses, expires_at, revoked_at, replaced_by, metadata ON api_keys
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER checkouts_set_updated_at BEFORE INSERT OR UPDATE OF project_id, status, url,
    expires_at, metadata ON checkouts
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE OR REPLACE TRIGGER file_links_set_updated_at BEFORE INSERT OR UPDATE OF max_downloads,
    expires_at, revoked_at, metadata ON file_links
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER folders_set_updated_at BEFORE INSERT OR UPDATE OF name, parent_id, path, metadata
    ON folders
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER invitations_set_updated_at BEFORE INSERT OR UPDATE OF email, role, status,
    expires_at, metadata ON invitations
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER members_set_updated_at BEFORE INSERT OR UPDATE OF role, own_role,
    custom_role_id, organization_role, metadata ON members
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER passkeys_set_updated_at BEFORE INSERT OR UPDATE OF name ON passkeys
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER prices_set_updated_at BEFORE INSERT OR UPDATE OF active, metadata ON prices
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE OR REPLACE TRIGGER subscriptions_set_updated_at BEFORE INSERT OR UPDATE OF project_id, status,
    quantity, price_id, items, change, period_start, period_end, resumes_at, cancel_at_period_end,
    canceled_at, ended_at, latest_order_id, metadata ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE OR REPLACE TRIGGER upload_links_set_updated_at BEFORE INSERT OR UPDATE OF expires_at, revoked_at,
    metadata ON upload_links
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER tracked_jobs_set_updated_at BEFORE INSERT OR UPDATE OF status, done, total, error
    ON tracked_jobs
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER uploads_set_first_updated_at BEFORE INSERT ON uploads
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER uploads_set_updated_at BEFORE UPDATE OF received, file_id ON uploads
  FOR EACH ROW
  WHEN (((old.received IS DISTINCT FROM new.received) OR (old.file_id IS DISTINCT FROM new.file_id)))
  EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER webhook_deliveries_set_updated_at BEFORE INSERT OR UPDATE OF status, attempts,
    next_attempt_at ON webhook_deliveries
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER webhook_endpoints_set_updated_at BEFORE INSERT OR UPDATE OF url, description,
    event_types, enabled, disabled_reason, previous_expires_at, metadata ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER organizations_set_updated_at BEFORE INSERT OR UPDATE OF name, description,
    metadata ON organizations
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER organization_members_set_updated_at BEFORE INSERT OR UPDATE OF role, status,
    expires_at ON organization_members
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER custom_roles_set_updated_at BEFORE INSERT OR UPDATE OF name, description,
    projects, storage, ai, payments ON custom_roles
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE OR REPLACE TRIGGER service_accounts_set_updated_at BEFORE INSERT OR UPDATE OF metadata, deleted_at
    ON service_accounts
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();
