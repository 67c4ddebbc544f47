-- The lowest id with this prefix of a time: ids begin with their time of creation, in milliseconds.
CREATE OR REPLACE FUNCTION id_at(prefix text, at timestamp with time zone)
RETURNS text
LANGUAGE sql
IMMUTABLE
STRICT
PARALLEL SAFE
AS $function$
  SELECT prefix || '_' || string_agg(
    substr('0123456789abcdefghjkmnpqrstvwxyz', 1 + ((ms >> (5 * digit)) & 31)::int, 1), '' ORDER BY digit DESC
  ) || repeat('0', 16)
  FROM (SELECT least(greatest(ceil(extract(epoch FROM at) * 1000), 0), 281474976710655)::bigint AS ms) times,
    generate_series(0, 9) AS digit
$function$;

-- One index for each list that is sorted by updated_at.
CREATE INDEX "files_updated_at_idx" ON "files"("space_id", "updated_at", "id");
CREATE INDEX "documents_updated_at_idx" ON "documents"("knowledge_base_id", "updated_at", "id");
CREATE INDEX "knowledge_bases_updated_at_idx" ON "knowledge_bases"("space_id", "updated_at", "id");
CREATE INDEX "products_updated_at_idx" ON "products"("updated_at", "id");
CREATE INDEX "orders_updated_at_idx" ON "orders"("space_id", "updated_at", "id");

-- For metadata[key]=value. Most rows have no metadata, and are not in the index.
CREATE INDEX "users_metadata_idx" ON "users" USING gin ("metadata" jsonb_path_ops) WHERE "metadata" <> '{}';
CREATE INDEX "files_metadata_idx" ON "files"
  USING gin ("space_id", "metadata" jsonb_path_ops) WHERE "metadata" <> '{}';
CREATE INDEX "documents_metadata_idx" ON "documents"
  USING gin ("knowledge_base_id", "metadata" jsonb_path_ops) WHERE "metadata" <> '{}';
CREATE INDEX "ai_sessions_metadata_idx" ON "ai_sessions"
  USING gin ("space_id", "metadata" jsonb_path_ops) WHERE "metadata" <> '{}';
CREATE INDEX "orders_metadata_idx" ON "orders"
  USING gin ("space_id", "metadata" jsonb_path_ops) WHERE "metadata" <> '{}';
