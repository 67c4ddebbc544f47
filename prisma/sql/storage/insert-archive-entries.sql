-- Inserts entries of an archive, numbered from `first`.
-- @none
INSERT INTO archive_entries (archive_id, number, file_id, blob_key, name, bytes, modified_at, "offset",
  central_offset)
SELECT :archive_id, :first::int + e.n::int - 1, e.file_id, e.blob_key, e.name, e.bytes, e.modified_at,
  e.place, e.central
FROM unnest(:file_ids::text[], :blob_keys::text[], :names::text[], :sizes::bigint[], :times::timestamptz[],
  :offsets::bigint[], :central_offsets::bigint[])
  WITH ORDINALITY AS e(file_id, blob_key, name, bytes, modified_at, place, central, n)
