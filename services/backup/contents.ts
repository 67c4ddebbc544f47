// The contents of a backup besides the rows of tables, and the tables that it leaves out.

/** Tables whose rows belong to one copy of the database only. */
export const excludedTables = ['_prisma_migrations', 'restored_copy']

/** Every blob that a row refers to, once: key, bytes and SHA-256. */
export const referencedBlobs = `(
  SELECT f.blob_key, f.bytes, f.sha256 FROM files f
  UNION
  SELECT n.blob_key, n.bytes, n.sha256 FROM file_versions n
  UNION ALL
  SELECT e.blob_key, e.bytes, e.sha256 FROM account_exports e WHERE e.blob_key IS NOT NULL
  UNION ALL
  SELECT a.id || '-' || v.size, v.bytes, v.sha256
  FROM avatars a, jsonb_to_recordset(a.variants) AS v (size int, bytes bigint, sha256 text))`

export const blobsFile = 'blobs.gz'

export function tableFile(table: string): string {
  return `table-${table}.gz`
}
