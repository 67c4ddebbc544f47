-- AlterTable
ALTER TABLE "files" ADD COLUMN     "folder_id" TEXT,
ADD COLUMN     "purge_at" TIMESTAMPTZ(3),
ADD COLUMN     "trashed_at" TIMESTAMPTZ(3),
ADD COLUMN     "trashed_by" TEXT,
ADD COLUMN     "trashed_path" TEXT;

-- AlterTable
ALTER TABLE "storage_usage" ADD COLUMN     "trashed_bytes" BIGINT NOT NULL DEFAULT 0,
ADD COLUMN     "trashed_files" BIGINT NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "uploads" ADD COLUMN     "folder_id" TEXT;

-- CreateTable
CREATE TABLE "folders" (
    "id" TEXT NOT NULL,
    "project_id" TEXT,
    "owner_id" TEXT NOT NULL,
    "workspace_id" TEXT NOT NULL,
    "parent_id" TEXT,
    "name" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "deleted_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "folders_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "folders_workspace_id_id_idx" ON "folders"("workspace_id", "id");

-- CreateIndex
CREATE INDEX "folders_workspace_id_updated_at_id_idx" ON "folders"("workspace_id", "updated_at", "id");

-- CreateIndex
CREATE INDEX "folders_project_id_idx" ON "folders"("project_id");

-- CreateIndex
CREATE INDEX "folders_owner_id_workspace_id_id_idx" ON "folders"("owner_id", "workspace_id", "id");

-- CreateIndex
CREATE INDEX "folders_parent_id_id_idx" ON "folders"("parent_id", "id");

-- CreateIndex
CREATE INDEX "uploads_folder_id_idx" ON "uploads"("folder_id");

-- AddForeignKey
ALTER TABLE "files" ADD CONSTRAINT "files_folder_id_fkey" FOREIGN KEY ("folder_id") REFERENCES "folders"("id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "folders" ADD CONSTRAINT "folders_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "folders" ADD CONSTRAINT "folders_owner_id_fkey" FOREIGN KEY ("owner_id") REFERENCES "users"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "folders" ADD CONSTRAINT "folders_parent_id_fkey" FOREIGN KEY ("parent_id") REFERENCES "folders"("id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_folder_id_fkey" FOREIGN KEY ("folder_id") REFERENCES "folders"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- A hash keeps an entry short: a path has up to 1024 characters. The name of a folder that is being deleted
-- is free.
CREATE UNIQUE INDEX folders_path_idx ON folders (workspace_id, md5(path)) WHERE deleted_at IS NULL;
CREATE INDEX folders_deleted_idx ON folders (id) WHERE deleted_at IS NOT NULL;
CREATE INDEX folders_name_idx ON folders (workspace_id, parent_id, lower(name), id) WHERE deleted_at IS NULL;
CREATE INDEX folders_metadata_idx ON folders USING gin (workspace_id, metadata jsonb_path_ops)
  WHERE metadata <> '{}';
ALTER TABLE folders
  ADD CONSTRAINT folders_metadata_object CHECK (jsonb_typeof(metadata) = 'object'),
  ADD CONSTRAINT folders_workspace CHECK (workspace_id = coalesce(project_id, owner_id)),
  ADD CONSTRAINT folders_name CHECK (name <> '' AND strpos(name, '/') = 0
    AND (path = name OR right(path, length(name) + 1) = '/' || name));
ALTER TABLE files
  ADD CONSTRAINT files_trash CHECK ((trashed_at IS NULL) = (trashed_path IS NULL)
    AND (trashed_at IS NULL) = (purge_at IS NULL) AND (trashed_at IS NULL OR folder_id IS NULL));
ALTER TABLE storage_usage
  ADD CONSTRAINT storage_usage_trash CHECK (trashed_files BETWEEN 0 AND files
    AND trashed_bytes BETWEEN 0 AND bytes);

-- Adds what changed files change to the storage usage: their number, bytes, and what is in the trash.
CREATE OR REPLACE FUNCTION count_changed_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
DECLARE
  c record;
BEGIN
  FOR c IN
    SELECT workspace_id, sum(n) AS files, sum(n * bytes) AS bytes, sum(n * trashed) AS trashed_files,
      sum(n * trashed * bytes) AS trashed_bytes
    FROM (
      SELECT workspace_id, 1 AS n, bytes, (trashed_at IS NOT NULL)::int AS trashed FROM added
      UNION ALL
      SELECT workspace_id, -1, bytes, (trashed_at IS NOT NULL)::int FROM removed
    ) changes
    GROUP BY workspace_id
    HAVING sum(n) <> 0 OR sum(n * bytes) <> 0 OR sum(n * trashed) <> 0 OR sum(n * trashed * bytes) <> 0
    ORDER BY workspace_id
  LOOP
    INSERT INTO storage_usage (workspace_id) VALUES (c.workspace_id) ON CONFLICT DO NOTHING;
    UPDATE storage_usage u SET files = u.files + c.files, bytes = u.bytes + c.bytes,
      trashed_files = u.trashed_files + c.trashed_files, trashed_bytes = u.trashed_bytes + c.trashed_bytes
    WHERE u.workspace_id = c.workspace_id;
  END LOOP;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_changed AFTER UPDATE ON files
  REFERENCING OLD TABLE AS removed NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_changed_files();

-- Adds new files to the storage usage.
CREATE OR REPLACE FUNCTION count_new_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  INSERT INTO storage_usage AS u (workspace_id, files, bytes, trashed_files, trashed_bytes)
  SELECT workspace_id, count(*), sum(bytes), count(trashed_at),
    coalesce(sum(bytes) FILTER (WHERE trashed_at IS NOT NULL), 0)
  FROM added GROUP BY workspace_id ORDER BY workspace_id
  ON CONFLICT (workspace_id) DO UPDATE SET files = u.files + excluded.files, bytes = u.bytes + excluded.bytes,
    trashed_files = u.trashed_files + excluded.trashed_files,
    trashed_bytes = u.trashed_bytes + excluded.trashed_bytes;
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_added AFTER INSERT ON files
  REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_new_files();

-- The folder with a path, which is created with the folders above it if there is none. Null for the root, and
-- if the workspace would have more than `most` folders. `created`: the ids of the new folders, outermost
-- first. Locks the storage of the workspace, so that no folder on the path is moved or deleted meanwhile.
CREATE OR REPLACE FUNCTION ensure_folder(workspace text, project text, owner text, wanted text, most integer,
  OUT folder text, OUT created text[])
LANGUAGE plpgsql
AS $function$
DECLARE
  names text[] := string_to_array(normalize(wanted, NFC), '/');
  above text;
  its_path text;
  missing int;
BEGIN
  created := '{}';
  IF wanted = '' THEN
    RETURN;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('uploads ' || workspace, 0));
  -- From the inside outwards: mostly the folder itself exists.
  FOR n IN REVERSE cardinality(names)..1 LOOP
    its_path := array_to_string(names[1:n], '/');
    SELECT f.id INTO above FROM folders f
    WHERE f.workspace_id = workspace AND md5(f.path) = md5(its_path) AND f.path = its_path
      AND f.deleted_at IS NULL;
    missing := cardinality(names) - n;
    EXIT WHEN FOUND;
    missing := cardinality(names);
  END LOOP;
  IF missing > 0 AND missing + (SELECT count(*) FROM folders f WHERE f.workspace_id = workspace) > most THEN
    RETURN;
  END IF;
  FOR n IN cardinality(names) - missing + 1..cardinality(names) LOOP
    INSERT INTO folders
      (id, project_id, owner_id, workspace_id, parent_id, name, path, created_at, updated_at)
    VALUES (new_id('fld', clock_timestamp()), project, owner, workspace, above, names[n],
      array_to_string(names[1:n], '/'), now(), now())
    RETURNING id INTO above;
    created := created || above;
  END LOOP;
  folder := above;
END $function$;

-- Subtracts deleted files from the storage usage, and puts their blobs into quarantine.
CREATE OR REPLACE FUNCTION quarantine_deleted_files()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  UPDATE storage_usage u SET files = u.files - deleted.files, bytes = u.bytes - deleted.bytes,
    trashed_files = u.trashed_files - deleted.trashed_files,
    trashed_bytes = u.trashed_bytes - deleted.trashed_bytes
  FROM (
    SELECT workspace_id, count(*) AS files, sum(bytes) AS bytes, count(trashed_at) AS trashed_files,
      coalesce(sum(bytes) FILTER (WHERE trashed_at IS NOT NULL), 0) AS trashed_bytes
    FROM removed GROUP BY workspace_id
  ) deleted
  WHERE u.workspace_id = deleted.workspace_id;
  INSERT INTO quarantined_blobs (key, reason) SELECT blob_key, 'deleted' FROM removed
  ON CONFLICT (key) DO UPDATE SET reason = 'deleted', since = now();
  RETURN NULL;
END $function$;

CREATE OR REPLACE TRIGGER files_removed AFTER DELETE ON files
  REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION quarantine_deleted_files();

-- Servers of version 1.12 set the path of a file: it becomes the folder. Where a newer server sets the
-- folder, the old ones read its path.
CREATE OR REPLACE FUNCTION set_file_folder()
RETURNS trigger
LANGUAGE plpgsql
AS $function$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.folder_id IS NOT DISTINCT FROM OLD.folder_id THEN
    IF NEW.path = OLD.path THEN
      RETURN NEW;
    END IF;
    NEW.folder_id := NULL;
  ELSIF TG_OP = 'UPDATE' THEN
    NEW.path := '';
  END IF;
  IF NEW.folder_id IS NOT NULL THEN
    NEW.path := coalesce((SELECT f.path FROM folders f WHERE f.id = NEW.folder_id), '');
  ELSIF NEW.path <> '' THEN
    NEW.folder_id :=
      (SELECT folder FROM ensure_folder(NEW.workspace_id, NEW.project_id, NEW.owner_id, NEW.path, 1000000));
  END IF;
  RETURN NEW;
END $function$;

CREATE OR REPLACE TRIGGER files_set_folder BEFORE INSERT OR UPDATE OF path, folder_id ON files
  FOR EACH ROW EXECUTE FUNCTION set_file_folder();

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
    quantity, price_id, period_start, period_end, cancel_at_period_end, canceled_at, ended_at,
    latest_order_id, metadata ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION set_updated_at('payments');

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
