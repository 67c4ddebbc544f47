-- Adds `updated_at` and `metadata` where they were missing. The defaults are constants, so that PostgreSQL
-- does not rewrite the tables. Existing rows have the epoch until the next migration fills them.
ALTER TABLE "ai_messages" ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "ai_messages" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "api_keys" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}',
  ADD CONSTRAINT "api_keys_metadata_object" CHECK (jsonb_typeof("metadata") = 'object'),
  ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "api_keys" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "checkouts" ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "checkouts" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "file_links" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}',
  ADD CONSTRAINT "file_links_metadata_object" CHECK (jsonb_typeof("metadata") = 'object'),
  ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "file_links" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "invitations" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}',
  ADD CONSTRAINT "invitations_metadata_object" CHECK (jsonb_typeof("metadata") = 'object'),
  ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "invitations" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "members" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}',
  ADD CONSTRAINT "members_metadata_object" CHECK (jsonb_typeof("metadata") = 'object');
ALTER TABLE "prices" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}',
  ADD CONSTRAINT "prices_metadata_object" CHECK (jsonb_typeof("metadata") = 'object'),
  ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "prices" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "subscriptions" ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "subscriptions" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "uploads" ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "uploads" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "webhook_deliveries" ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "webhook_deliveries" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "webhook_endpoints" ADD COLUMN "metadata" JSONB NOT NULL DEFAULT '{}',
  ADD CONSTRAINT "webhook_endpoints_metadata_object" CHECK (jsonb_typeof("metadata") = 'object'),
  ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT 'epoch';
ALTER TABLE "webhook_endpoints" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;

CREATE FUNCTION set_updated_at()
RETURNS trigger
LANGUAGE plpgsql
AS $$
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
END $$;

CREATE TRIGGER ai_messages_set_updated_at BEFORE INSERT OR UPDATE OF content, status,
    finish_reason, prompt_tokens, completion_tokens, citations, error, metadata ON ai_messages
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE TRIGGER api_keys_set_updated_at BEFORE INSERT OR UPDATE OF name, scopes, project_ids,
    all_projects, expires_at, revoked_at, replaced_by, metadata ON api_keys
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE TRIGGER checkouts_set_updated_at BEFORE INSERT OR UPDATE OF project_id, status, url,
    expires_at, metadata ON checkouts
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE TRIGGER file_links_set_updated_at BEFORE INSERT OR UPDATE OF max_downloads,
    expires_at, revoked_at, metadata ON file_links
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE TRIGGER invitations_set_updated_at BEFORE INSERT OR UPDATE OF email, role, status,
    expires_at, metadata ON invitations
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE TRIGGER members_set_updated_at BEFORE INSERT OR UPDATE OF role, metadata ON members
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE TRIGGER prices_set_updated_at BEFORE INSERT OR UPDATE OF active, metadata ON prices
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE TRIGGER subscriptions_set_updated_at BEFORE INSERT OR UPDATE OF project_id, status,
    quantity, price_id, period_start, period_end, cancel_at_period_end, canceled_at, ended_at,
    latest_order_id, metadata ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

CREATE TRIGGER uploads_set_first_updated_at BEFORE INSERT ON uploads
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE TRIGGER uploads_set_updated_at BEFORE UPDATE OF received, file_id ON uploads
  FOR EACH ROW
  WHEN (((old.received IS DISTINCT FROM new.received) OR (old.file_id IS DISTINCT FROM new.file_id)))
  EXECUTE FUNCTION set_updated_at();

CREATE TRIGGER webhook_deliveries_set_updated_at BEFORE INSERT OR UPDATE OF status, attempts,
    next_attempt_at ON webhook_deliveries
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();

CREATE TRIGGER webhook_endpoints_set_updated_at BEFORE INSERT OR UPDATE OF url, description,
    event_types, enabled, disabled_reason, secret, metadata ON webhook_endpoints
  FOR EACH ROW EXECUTE FUNCTION set_updated_at();
