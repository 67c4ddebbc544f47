// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Adds chunks to the counts of a knowledge base.
 * @see prisma/sql/knowledge/add-to-chunk-counts.sql
 */
export const addToChunkCounts = none<{ knowledge_base_id: string; language: string; chunks: number; tokens: number }>(
  'knowledge/add-to-chunk-counts',
  `INSERT INTO chunk_counts AS c (knowledge_base_id, language, chunks, tokens)
VALUES ($1, $2, $3, $4)
ON CONFLICT (knowledge_base_id, language)
DO UPDATE SET chunks = c.chunks + excluded.chunks, tokens = c.tokens + excluded.tokens`,
  ['knowledge_base_id', 'language', 'chunks', 'tokens'],
)

/**
 * Adds chunks to the counts of their lexemes. `counts` is a JSON object: the number of chunks by lexeme.
 * @see prisma/sql/knowledge/add-to-lexemes.sql
 */
export const addToLexemes = many<{ knowledge_base_id: string; counts: object | string }, AddToLexemesRow>(
  'knowledge/add-to-lexemes',
  `INSERT INTO lexemes AS l (knowledge_base_id, lexeme, chunks)
SELECT $1, key, value::int FROM json_each_text($2::json)
ON CONFLICT (knowledge_base_id, lexeme) DO UPDATE SET chunks = l.chunks + excluded.chunks
RETURNING id, lexeme`,
  ['knowledge_base_id', 'counts'],
)
export interface AddToLexemesRow {
  id: number
  lexeme: string
}

/**
 * Marks the document of a job as being processed, unless the job is out of date, and reads what parsing
 * needs. `was_queued`: no lost worker has marked it before. The file may have other content by now: the blob
 * is the one with the SHA-256 of the document, and null if no version has it any more.
 * @see prisma/sql/knowledge/claim-document.sql
 */
export const claimDocument = optional<{ id: string; wanted: number }, ClaimDocumentRow>(
  'knowledge/claim-document',
  `WITH was AS (
  SELECT id, status FROM documents
  WHERE id = $1 AND wanted = $2 AND status IN ('queued', 'processing') FOR NO KEY UPDATE
), d AS (
  UPDATE documents SET status = 'processing', updated_at = greatest(now(), updated_at + interval '1 millisecond')
  WHERE id = (SELECT was.id FROM was) RETURNING *
)
SELECT d.id, d.knowledge_base_id, d.name, d.content_type, d.sha256, d.source, d.owner_id, f.blob_key,
  f.declared_content_type, k.project_id, k.max_tokens, k.overlap_tokens,
  was.status = 'queued' AS "was_queued"
FROM d JOIN was ON true JOIN knowledge_bases k ON k.id = d.knowledge_base_id
LEFT JOIN LATERAL (
  SELECT blob_key, declared_content_type FROM files WHERE id = d.file_id AND sha256 = d.sha256
  UNION ALL
  SELECT blob_key, declared_content_type FROM file_versions WHERE file_id = d.file_id AND sha256 = d.sha256
  LIMIT 1
) f ON true`,
  ['id', 'wanted'],
)
export interface ClaimDocumentRow {
  id: string
  knowledge_base_id: string
  name: string
  content_type: string
  sha256: string
  source: string | null
  owner_id: string
  blob_key: string | null
  declared_content_type: string | null
  project_id: string | null
  max_tokens: number
  overlap_tokens: number
  was_queued: boolean
}

/**
 * Deletes a batch of the documents of a knowledge base, but nothing if the batch contains all documents
 * that are left.
 * @see prisma/sql/knowledge/delete-all-but-last-documents.sql
 */
export const deleteAllButLastDocuments = one<{ knowledge_base_id: string; max_chunks: number }, DeleteAllButLastDocumentsRow>(
  'knowledge/delete-all-but-last-documents',
  `WITH batch AS MATERIALIZED (SELECT id FROM (
  SELECT id, sum(chunk_count) OVER (ORDER BY id) - chunk_count AS before
  FROM (
    SELECT d.id, d.chunk_count FROM documents d WHERE d.knowledge_base_id = $1
      ORDER BY d.id LIMIT 100
  ) d
) s WHERE before < $2), deleted AS (
  DELETE FROM documents WHERE id = ANY(ARRAY(SELECT id FROM batch))
    AND (SELECT sum(count) FROM document_counts WHERE knowledge_base_id = $1)
      > (SELECT count(*) FROM batch)
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['knowledge_base_id', 'max_chunks'],
)
export interface DeleteAllButLastDocumentsRow {
  n: number
}

/**
 * Deletes the chunks of a document.
 * @see prisma/sql/knowledge/delete-chunks.sql
 */
export const deleteChunks = one<{ knowledge_base_id: string; document_id: string }, DeleteChunksRow>(
  'knowledge/delete-chunks',
  `SELECT remove_chunks($1, $2)`,
  ['knowledge_base_id', 'document_id'],
)
export interface DeleteChunksRow {
  remove_chunks: unknown | null
}

/**
 * Deletes the parsed text of a document.
 * @see prisma/sql/knowledge/delete-document-text.sql
 */
export const deleteDocumentText = none<{ knowledge_base_id: string; document_id: string }>(
  'knowledge/delete-document-text',
  `DELETE FROM document_texts WHERE knowledge_base_id = $1 AND document_id = $2`,
  ['knowledge_base_id', 'document_id'],
)

/**
 * Deletes one document per statement, because each may have tens of thousands of chunks.
 * @see prisma/sql/knowledge/delete-document.sql
 */
export const deleteDocument = none<{ id: string }>(
  'knowledge/delete-document',
  `DELETE FROM documents WHERE id = $1`,
  ['id'],
)

/**
 * Deletes a batch of the documents of a project, limited like `first-documents`.
 * @see prisma/sql/knowledge/delete-documents-of-project.sql
 */
export const deleteDocumentsOfProject = one<{ project_id: string; max_chunks: number }, DeleteDocumentsOfProjectRow>(
  'knowledge/delete-documents-of-project',
  `WITH deleted AS (
  DELETE FROM documents WHERE id = ANY(ARRAY(
    SELECT id FROM (
      SELECT id, sum(chunk_count) OVER (ORDER BY id) - chunk_count AS before
      FROM (
        SELECT d.id, d.chunk_count FROM knowledge_bases k JOIN documents d ON d.knowledge_base_id = k.id
        WHERE k.project_id = $1 ORDER BY d.id LIMIT 100
      ) d
    ) s WHERE before < $2))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['project_id', 'max_chunks'],
)
export interface DeleteDocumentsOfProjectRow {
  n: number
}

/**
 * Deletes a batch of the documents of a knowledge base.
 * @see prisma/sql/knowledge/delete-documents.sql
 */
export const deleteDocuments = one<{ knowledge_base_id: string; max_chunks: number }, DeleteDocumentsRow>(
  'knowledge/delete-documents',
  `WITH deleted AS (DELETE FROM documents WHERE id = ANY(ARRAY(SELECT id FROM (
  SELECT id, sum(chunk_count) OVER (ORDER BY id) - chunk_count AS before
  FROM (
    SELECT d.id, d.chunk_count FROM documents d WHERE d.knowledge_base_id = $1
      ORDER BY d.id LIMIT 100
  ) d
) s WHERE before < $2)) RETURNING 1)
SELECT count(*)::int AS n FROM deleted`,
  ['knowledge_base_id', 'max_chunks'],
)
export interface DeleteDocumentsRow {
  n: number
}

/**
 * Deletes the entries of a knowledge base whose index entries are removed, up to the id `:last`.
 * @see prisma/sql/knowledge/delete-index-removals.sql
 */
export const deleteIndexRemovals = none<{ knowledge_base_id: string; last: number | null }>(
  'knowledge/delete-index-removals',
  `DELETE FROM index_removals WHERE knowledge_base_id = $1 AND id <= $2::bigint`,
  ['knowledge_base_id', 'last'],
)

/**
 * Deletes a batch of the lexemes of a deleted knowledge base.
 * @see prisma/sql/knowledge/delete-lexemes.sql
 */
export const deleteLexemes = one<{ knowledge_base_id: string; limit: number }, DeleteLexemesRow>(
  'knowledge/delete-lexemes',
  `WITH deleted AS (
  DELETE FROM lexemes WHERE knowledge_base_id = $1 AND id = ANY(ARRAY(
    SELECT id FROM lexemes WHERE knowledge_base_id = $1 LIMIT $2))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['knowledge_base_id', 'limit'],
)
export interface DeleteLexemesRow {
  n: number
}

/**
 * Deletes a batch of the removed chunks of a deleted knowledge base.
 * @see prisma/sql/knowledge/delete-removed-chunks.sql
 */
export const deleteRemovedChunks = one<{ knowledge_base_id: string; limit: number }, DeleteRemovedChunksRow>(
  'knowledge/delete-removed-chunks',
  `WITH deleted AS (
  DELETE FROM removed_chunks WHERE knowledge_base_id = $1 AND id = ANY(ARRAY(
    SELECT id FROM removed_chunks WHERE knowledge_base_id = $1 LIMIT $2))
  RETURNING 1
)
SELECT count(*)::int AS n FROM deleted`,
  ['knowledge_base_id', 'limit'],
)
export interface DeleteRemovedChunksRow {
  n: number
}

/**
 * The document of a knowledge base with these bytes.
 * @see prisma/sql/knowledge/find-document-by-content.sql
 */
export const findDocumentByContent = optional<{ knowledge_base_id: string; sha256: string }, FindDocumentByContentRow>(
  'knowledge/find-document-by-content',
  `SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.knowledge_base_id = $1 AND d.sha256 = $2`,
  ['knowledge_base_id', 'sha256'],
  { reads: true },
)
export interface FindDocumentByContentRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  project_id: string | null
}

/**
 * The parsed text of a document.
 * @see prisma/sql/knowledge/find-document-text.sql
 */
export const findDocumentText = optional<{ knowledge_base_id: string; document_id: string }, FindDocumentTextRow>(
  'knowledge/find-document-text',
  `SELECT document_id, text, pages FROM document_texts
WHERE knowledge_base_id = $1 AND document_id = $2`,
  ['knowledge_base_id', 'document_id'],
  { reads: true },
)
export interface FindDocumentTextRow {
  document_id: string
  text: string
  pages: NonNullable<Schemas['DocumentText']['pages']> | null
}

/**
 * A document with the owner and the project of its knowledge base.
 * @see prisma/sql/knowledge/find-document.sql
 */
export const findDocument = one<{ id: string }, FindDocumentRow>(
  'knowledge/find-document',
  `SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id, k.owner_id, d.wanted FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindDocumentRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  project_id: string | null
  owner_id: string
  wanted: number
}

/**
 * A knowledge base, without authorization.
 * @see prisma/sql/knowledge/find-knowledge-base.sql
 */
export const findKnowledgeBase = one<{ id: string }, FindKnowledgeBaseRow>(
  'knowledge/find-knowledge-base',
  `SELECT k.id, k.name, k.description,
jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
(SELECT jsonb_build_object(
   'queued', coalesce(sum(c.count) FILTER (WHERE c.status = 'queued'), 0),
   'processing', coalesce(sum(c.count) FILTER (WHERE c.status = 'processing'), 0),
   'ready', coalesce(sum(c.count) FILTER (WHERE c.status = 'ready'), 0),
   'failed', coalesce(sum(c.count) FILTER (WHERE c.status = 'failed'), 0))
 FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
k.metadata, k.owner_id AS created_by, k.created_at, k.updated_at, k.project_id FROM knowledge_bases k WHERE k.id = $1`,
  ['id'],
  { reads: true },
)
export interface FindKnowledgeBaseRow {
  id: string
  name: string
  description: string | null
  chunking: Schemas['Chunking']
  document_counts: Schemas['KnowledgeBase']['document_counts']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Locks the lexemes of a knowledge base until the transaction ends.
 * @see prisma/sql/knowledge/hold-lexemes.sql
 */
export const holdLexemes = one<{ knowledge_base_id: string }, HoldLexemesRow>(
  'knowledge/hold-lexemes',
  `SELECT hold_lexemes($1)`,
  ['knowledge_base_id'],
)
export interface HoldLexemesRow {
  hold_lexemes: unknown | null
}

/**
 * Inserts chunks of a document. `chunks` is a JSON array.
 * @see prisma/sql/knowledge/insert-chunks.sql
 */
export const insertChunks = none<{ document_id: string; knowledge_base_id: string; language: string; chunks: object | string }>(
  'knowledge/insert-chunks',
  `INSERT INTO chunks (id, document_id, knowledge_base_id, language, position, start_index, end_index, page,
  heading, tokens, text, terms, term_counts, embedding)
SELECT id, $1, $2, $3, position, start, "end", page, heading, tokens, text,
  terms, counts, embedding
FROM json_to_recordset($4::json) AS g (id text, position int, start int, "end" int, page int,
  heading text, tokens int, text text, terms bigint[], counts smallint[], embedding real[])`,
  ['document_id', 'knowledge_base_id', 'language', 'chunks'],
)

/**
 * Inserts a document, unless the knowledge base has one with the same bytes.
 * @see prisma/sql/knowledge/insert-document.sql
 */
export const insertDocument = optional<{ id: string; knowledge_base_id: string; file_id: string | null; name: string; content_type: string; sha256: string; source: string | null; metadata: object | string; created_by: string; created_at: Date | string }, InsertDocumentRow>(
  'knowledge/insert-document',
  `WITH d AS (
  INSERT INTO documents (id, knowledge_base_id, file_id, name, content_type, sha256, source, metadata,
    created_by, created_at, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,
    $10, $10)
  ON CONFLICT (knowledge_base_id, sha256) DO NOTHING RETURNING *
)
SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id, k.owner_id, d.wanted FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`,
  ['id', 'knowledge_base_id', 'file_id', 'name', 'content_type', 'sha256', 'source', 'metadata', 'created_by', 'created_at'],
)
export interface InsertDocumentRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  project_id: string | null
  owner_id: string
  wanted: number
}

/**
 * Inserts a knowledge base.
 * @see prisma/sql/knowledge/insert-knowledge-base.sql
 */
export const insertKnowledgeBase = one<{ id: string; project_id: string | null; owner_id: string; name: string; description: string | null; max_tokens: number; overlap_tokens: number; metadata: object | string; created_at: Date | string }, InsertKnowledgeBaseRow>(
  'knowledge/insert-knowledge-base',
  `WITH k AS (
  INSERT INTO knowledge_bases (id, project_id, owner_id, workspace_id, name, description, max_tokens,
    overlap_tokens, metadata, created_at, updated_at)
  VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6,
    $7, $8, $9, $9)
  RETURNING *
)
SELECT k.id, k.name, k.description,
jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
(SELECT jsonb_build_object(
   'queued', coalesce(sum(c.count) FILTER (WHERE c.status = 'queued'), 0),
   'processing', coalesce(sum(c.count) FILTER (WHERE c.status = 'processing'), 0),
   'ready', coalesce(sum(c.count) FILTER (WHERE c.status = 'ready'), 0),
   'failed', coalesce(sum(c.count) FILTER (WHERE c.status = 'failed'), 0))
 FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
k.metadata, k.owner_id AS created_by, k.created_at, k.updated_at, k.project_id FROM k`,
  ['id', 'project_id', 'owner_id', 'name', 'description', 'max_tokens', 'overlap_tokens', 'metadata', 'created_at'],
)
export interface InsertKnowledgeBaseRow {
  id: string
  name: string
  description: string | null
  chunking: Schemas['Chunking']
  document_counts: Schemas['KnowledgeBase']['document_counts']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Whether the text differs from the stored text of the document.
 * @see prisma/sql/knowledge/is-new-text.sql
 */
export const isNewText = one<{ knowledge_base_id: string; document_id: string; text: string }, IsNewTextRow>(
  'knowledge/is-new-text',
  `SELECT count(*) = 0 AS is_new FROM document_texts
WHERE knowledge_base_id = $1 AND document_id = $2 AND text = $3`,
  ['knowledge_base_id', 'document_id', 'text'],
  { reads: true },
)
export interface IsNewTextRow {
  is_new: boolean
}

/**
 * The newest entry that asks for the index entries of a knowledge base to be removed.
 * @see prisma/sql/knowledge/last-index-removal.sql
 */
export const lastIndexRemoval = one<{ knowledge_base_id: string }, LastIndexRemovalRow>(
  'knowledge/last-index-removal',
  `SELECT max(id) AS id FROM index_removals WHERE knowledge_base_id = $1`,
  ['knowledge_base_id'],
  { reads: true },
)
export interface LastIndexRemovalRow {
  id: number | null
}

/**
 * The knowledge bases of deleted users, after the id `after`.
 * @see prisma/sql/knowledge/list-bases-of-deleted-users.sql
 */
export const listBasesOfDeletedUsers = many<{ after: string | null; limit: number }, ListBasesOfDeletedUsersRow>(
  'knowledge/list-bases-of-deleted-users',
  `SELECT k.id FROM users u JOIN knowledge_bases k ON k.workspace_id = u.id
WHERE u.status = 'deleted' AND ($1::text IS NULL OR k.id > $1) ORDER BY 1 LIMIT $2`,
  ['after', 'limit'],
  { reads: true },
)
export interface ListBasesOfDeletedUsersRow {
  id: string
}

/**
 * The knowledge bases with index entries to remove, after the id `after`. Skips from one knowledge base to
 * the next along the index (a loose index scan), regardless of the rows of each.
 * @see prisma/sql/knowledge/list-bases-with-index-removals.sql
 */
export const listBasesWithIndexRemovals = many<{ after: string | null; limit: number }, ListBasesWithIndexRemovalsRow>(
  'knowledge/list-bases-with-index-removals',
  `WITH RECURSIVE bases AS (
  (
    SELECT knowledge_base_id AS id FROM index_removals
    WHERE $1::text IS NULL OR knowledge_base_id > $1 ORDER BY 1 LIMIT 1
  )
  UNION ALL
  SELECT (
    SELECT knowledge_base_id FROM index_removals r WHERE r.knowledge_base_id > b.id ORDER BY 1 LIMIT 1
  )
  FROM bases b WHERE b.id IS NOT NULL
)
SELECT id FROM bases WHERE id IS NOT NULL LIMIT $2`,
  ['after', 'limit'],
  { reads: true },
)
export interface ListBasesWithIndexRemovalsRow {
  id: string
}

/**
 * The documents of a knowledge base. TypeIDs sort by creation time.
 * @see prisma/sql/knowledge/list-documents.sql
 */
export const listDocuments = page<{ knowledge_base_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; status: readonly ('queued' | 'processing' | 'ready' | 'failed')[]; pattern: string; created_by: string }, 'created_at' | 'name' | 'updated_at', ListDocumentsRow>(
  'knowledge/list-documents',
  {
    select: `SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.knowledge_base_id = $1`,
    names: ['knowledge_base_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'status', 'pattern', 'created_by'],
    filters: {
      created_after: { sql: `d.id >= id_at('doc', $2)`, searches: true },
      created_before: { sql: `d.id < id_at('doc', $3)`, searches: true },
      updated_after: { sql: `d.updated_at >= $4`, searches: true },
      updated_before: { sql: `d.updated_at < $5`, searches: true },
      metadata: { sql: `d.metadata <> '{}' AND d.metadata @> $6::jsonb`, searches: true },
      status: { sql: `d.status = ANY($7)`, searches: true },
      pattern: { sql: `lower(d.name) LIKE lower($8)`, searches: true },
      created_by: { sql: `d.created_by = $9` },
    },
    sorts: {
      created_at: `d.id`,
      name: `lower(d.name)`,
      updated_at: `d.updated_at`,
    },
    id: `d.id`,
    totals: {
      '': `SELECT coalesce(sum(count), 0) AS total FROM document_counts WHERE knowledge_base_id = $1`,
      'status': `SELECT coalesce(sum(count), 0) AS total FROM document_counts
WHERE knowledge_base_id = $1 AND status = ANY($7)`,
    },
  },
)
export interface ListDocumentsRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  project_id: string | null
}

/**
 * The knowledge bases of a project or user, or of all that a user can read. TypeIDs sort by creation time.
 * @see prisma/sql/knowledge/list-knowledge-bases.sql
 */
export const listKnowledgeBases = page<{}, { reader: string; least_role: 'owner' | 'admin' | 'editor' | 'viewer'; key_projects: readonly string[] | null; own: string | null; workspace_id: string; organization_id: string; created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; metadata: object | string; q: string; created_by: string }, 'created_at' | 'name' | 'updated_at', ListKnowledgeBasesRow>(
  'knowledge/list-knowledge-bases',
  {
    select: `SELECT k.id, k.name, k.description,
jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
(SELECT jsonb_build_object(
   'queued', coalesce(sum(c.count) FILTER (WHERE c.status = 'queued'), 0),
   'processing', coalesce(sum(c.count) FILTER (WHERE c.status = 'processing'), 0),
   'ready', coalesce(sum(c.count) FILTER (WHERE c.status = 'ready'), 0),
   'failed', coalesce(sum(c.count) FILTER (WHERE c.status = 'failed'), 0))
 FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
k.metadata, k.owner_id AS created_by, k.created_at, k.updated_at, k.project_id FROM knowledge_bases k WHERE true`,
    names: ['reader', 'least_role', 'key_projects', 'own', 'workspace_id', 'organization_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'metadata', 'q', 'created_by'],
    filters: {
      reader: { sql: `k.workspace_id IN (
  SELECT my.project_id FROM members my
  WHERE my.user_id = $1 AND my.project_status <> 'deleted' AND my.ai_role <= $2::"MemberRole"
    AND ($3::text[] IS NULL OR my.project_id = ANY($3))
  UNION ALL SELECT $4::text)`, otherwise: `k.workspace_id = $5`, searches: true },
      organization_id: { sql: `k.project_id IN (SELECT its.id FROM projects its WHERE its.organization_id = $6)`, searches: true },
      created_after: { sql: `k.id >= id_at('kb', $7)`, searches: true },
      created_before: { sql: `k.id < id_at('kb', $8)`, searches: true },
      updated_after: { sql: `k.updated_at >= $9`, searches: true },
      updated_before: { sql: `k.updated_at < $10`, searches: true },
      metadata: { sql: `k.metadata <> '{}' AND k.metadata @> $11::jsonb`, searches: true },
      q: { sql: `k.name ILIKE $12 OR k.description ILIKE $12`, searches: true },
      created_by: { sql: `k.owner_id = $13` },
    },
    sorts: {
      created_at: `k.id`,
      name: `lower(k.name)`,
      updated_at: `k.updated_at`,
    },
    id: `k.id`,
    totals: {
    },
  },
)
export interface ListKnowledgeBasesRow {
  id: string
  name: string
  description: string | null
  chunking: Schemas['Chunking']
  document_counts: Schemas['KnowledgeBase']['document_counts']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * The workspaces with queued documents, each with its owner: the owner of the project, or the user.
 * @see prisma/sql/knowledge/list-waiting-workspaces.sql
 */
export const listWaitingWorkspaces = many<{}, ListWaitingWorkspacesRow>(
  'knowledge/list-waiting-workspaces',
  `SELECT DISTINCT k.workspace_id, coalesce(p.owner_id, k.workspace_id) AS "owner_id"
FROM document_counts c
  JOIN knowledge_bases k ON k.id = c.knowledge_base_id
  LEFT JOIN projects p ON p.id = k.project_id
WHERE c.status = 'queued' AND c.count > 0`,
  [],
  { reads: true },
)
export interface ListWaitingWorkspacesRow {
  workspace_id: string
  owner_id: string
}

/**
 * Locks the document of a job, unless the job is out of date.
 * @see prisma/sql/knowledge/lock-document-of-job.sql
 */
export const lockDocumentOfJob = optional<{ id: string; wanted: number }, LockDocumentOfJobRow>(
  'knowledge/lock-document-of-job',
  `SELECT id, knowledge_base_id, name, metadata FROM documents
WHERE id = $1 AND wanted = $2 AND status IN ('queued', 'processing') FOR NO KEY UPDATE`,
  ['id', 'wanted'],
)
export interface LockDocumentOfJobRow {
  id: string
  knowledge_base_id: string
  name: string
  metadata: Record<string, string>
}

/**
 * Like `read-document`, but locks the document and its project against other writers.
 * @see prisma/sql/knowledge/lock-document.sql
 */
export const lockDocument = optional<{ user_id: string; document_id: string; knowledge_base_id: string }, LockDocumentRow>(
  'knowledge/lock-document',
  `SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, d.wanted, k.project_id, k.owner_id,
(locked_member(k.project_id, $1)).ai_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id FOR SHARE) AS project_status FROM knowledge_bases k
LEFT JOIN LATERAL (
  SELECT * FROM documents WHERE id = $2 AND knowledge_base_id = k.id FOR NO KEY UPDATE
) d ON true WHERE k.id = $3`,
  ['user_id', 'document_id', 'knowledge_base_id'],
)
export interface LockDocumentRow {
  id: string | null
  knowledge_base_id: string | null
  name: string | null
  source: Schemas['KnowledgeDocument']['source']
  content_type: string | null
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed' | null
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings'] | null
  sha256: string | null
  tokens: number | null
  chunk_count: number | null
  metadata: Record<string, string> | null
  created_by: string | null
  created_at: string | null
  updated_at: string | null
  indexed_at: string | null
  wanted: number | null
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The documents that were created from the files. Locks them in one order, to avoid deadlocks.
 * @see prisma/sql/knowledge/lock-documents-of-files.sql
 */
export const lockDocumentsOfFiles = many<{ file_ids: readonly string[] }, LockDocumentsOfFilesRow>(
  'knowledge/lock-documents-of-files',
  `SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id, k.owner_id, d.wanted FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.file_id = ANY($1) ORDER BY d.id FOR UPDATE OF d`,
  ['file_ids'],
)
export interface LockDocumentsOfFilesRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  project_id: string | null
  owner_id: string
  wanted: number
}

/**
 * Locks documents that have waited for ten minutes and have no parsing job.
 * @see prisma/sql/knowledge/lock-documents-without-job.sql
 */
export const lockDocumentsWithoutJob = many<{ limit: number }, LockDocumentsWithoutJobRow>(
  'knowledge/lock-documents-without-job',
  `SELECT d.id AS document_id, d.wanted, k.workspace_id, 0 AS tries
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.status IN ('queued', 'processing') AND d.updated_at < now() - interval '10 minutes' AND NOT EXISTS (
  SELECT FROM jobs j
  WHERE j.queue = 'documents' AND j.data ->> 'document_id' = d.id AND j.data ->> 'wanted' = d.wanted::text
) ORDER BY d.updated_at LIMIT $1 FOR UPDATE OF d SKIP LOCKED`,
  ['limit'],
)
export interface LockDocumentsWithoutJobRow {
  document_id: string
  wanted: number
  workspace_id: string
  tries: number
}

/**
 * Like `open-knowledge-base`, but locks the knowledge base against all other writers, and its project.
 * @see prisma/sql/knowledge/lock-knowledge-base.sql
 */
export const lockKnowledgeBase = optional<{ user_id: string; id: string }, LockKnowledgeBaseRow>(
  'knowledge/lock-knowledge-base',
  `SELECT k.id, k.name, k.description,
jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
(SELECT jsonb_build_object(
   'queued', coalesce(sum(c.count) FILTER (WHERE c.status = 'queued'), 0),
   'processing', coalesce(sum(c.count) FILTER (WHERE c.status = 'processing'), 0),
   'ready', coalesce(sum(c.count) FILTER (WHERE c.status = 'ready'), 0),
   'failed', coalesce(sum(c.count) FILTER (WHERE c.status = 'failed'), 0))
 FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
k.metadata, k.owner_id AS created_by, k.created_at, k.updated_at, k.project_id, k.owner_id,
(locked_member(k.project_id, $1)).ai_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id FOR SHARE) AS project_status FROM knowledge_bases k WHERE k.id = $2
FOR NO KEY UPDATE OF k`,
  ['user_id', 'id'],
)
export interface LockKnowledgeBaseRow {
  id: string
  name: string
  description: string | null
  chunking: Schemas['Chunking']
  document_counts: Schemas['KnowledgeBase']['document_counts']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * A knowledge base and the caller's access to it.
 * @see prisma/sql/knowledge/open-knowledge-base.sql
 */
export const openKnowledgeBase = optional<{ user_id: string; id: string }, OpenKnowledgeBaseRow>(
  'knowledge/open-knowledge-base',
  `SELECT k.id, k.name, k.description,
jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
(SELECT jsonb_build_object(
   'queued', coalesce(sum(c.count) FILTER (WHERE c.status = 'queued'), 0),
   'processing', coalesce(sum(c.count) FILTER (WHERE c.status = 'processing'), 0),
   'ready', coalesce(sum(c.count) FILTER (WHERE c.status = 'ready'), 0),
   'failed', coalesce(sum(c.count) FILTER (WHERE c.status = 'failed'), 0))
 FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
k.metadata, k.owner_id AS created_by, k.created_at, k.updated_at, k.project_id, k.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = k.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id) AS project_status FROM knowledge_bases k WHERE k.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface OpenKnowledgeBaseRow {
  id: string
  name: string
  description: string | null
  chunking: Schemas['Chunking']
  document_counts: Schemas['KnowledgeBase']['document_counts']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Asks for a new version of a document; the outcome of the jobs before is discarded.
 * @see prisma/sql/knowledge/queue-document-again.sql
 */
export const queueDocumentAgain = none<{ id: string }>(
  'knowledge/queue-document-again',
  `UPDATE documents SET wanted = wanted + 1, status = 'queued', error = NULL WHERE id = $1`,
  ['id'],
)

/**
 * The lexemes of chunks, and how often each occurs. Each chunk gets the lexemes of its language and those
 * of `simple`. The count of a lexeme that both produce is the higher one, which is usually the language's,
 * as its lexeme covers more word forms.
 * @see prisma/sql/knowledge/read-chunk-lexemes.sql
 */
export const readChunkLexemes = many<{ bodies: readonly string[]; headings: readonly string[]; language: string; heading_weight: number; max_count: number }, ReadChunkLexemesRow>(
  'knowledge/read-chunk-lexemes',
  `WITH given AS (
  SELECT n, unaccent(body) AS body, unaccent(heading) AS heading
  FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS g (body, heading, n)
),
found AS (
  SELECT n, configuration, lexeme, sum(cardinality(positions) * weight) AS count
  FROM given,
    (SELECT DISTINCT c FROM unnest(ARRAY['simple', $3]) c) AS configurations (configuration),
    LATERAL (
      SELECT lexeme, positions, 1 AS weight FROM unnest(to_tsvector(configuration::regconfig, body))
      UNION ALL
      SELECT lexeme, positions, $4::int FROM unnest(to_tsvector(configuration::regconfig,
        heading))
    ) v
  GROUP BY 1, 2, 3
)
SELECT n::int AS n, array_agg(lexeme) AS "lexemes", array_agg(least(count, $5)::int) AS "counts"
FROM (SELECT n, lexeme, max(count) AS count FROM found GROUP BY 1, 2) f GROUP BY 1`,
  ['bodies', 'headings', 'language', 'heading_weight', 'max_count'],
  { reads: true },
)
export interface ReadChunkLexemesRow {
  n: number
  lexemes: string[]
  counts: number[]
}

/**
 * A document by its id, and the caller's access to its knowledge base.
 * @see prisma/sql/knowledge/read-document-alone.sql
 */
export const readDocumentAlone = optional<{ user_id: string; id: string }, ReadDocumentAloneRow>(
  'knowledge/read-document-alone',
  `SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, d.wanted, k.project_id, k.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = k.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id) AS project_status
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
WHERE d.id = $2`,
  ['user_id', 'id'],
  { reads: true },
)
export interface ReadDocumentAloneRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  wanted: number
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * A document and the caller's access to its knowledge base. Without a matching document the row has a null
 * `id`, so that a missing document (404) is distinguished from a forbidden one (403).
 * @see prisma/sql/knowledge/read-document.sql
 */
export const readDocument = optional<{ user_id: string; document_id: string; knowledge_base_id: string }, ReadDocumentRow>(
  'knowledge/read-document',
  `SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, d.wanted, k.project_id, k.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = k.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id) AS project_status FROM knowledge_bases k
LEFT JOIN LATERAL (
  SELECT * FROM documents WHERE id = $2 AND knowledge_base_id = k.id
) d ON true WHERE k.id = $3`,
  ['user_id', 'document_id', 'knowledge_base_id'],
  { reads: true },
)
export interface ReadDocumentRow {
  id: string | null
  knowledge_base_id: string | null
  name: string | null
  source: Schemas['KnowledgeDocument']['source']
  content_type: string | null
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed' | null
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings'] | null
  sha256: string | null
  tokens: number | null
  chunk_count: number | null
  metadata: Record<string, string> | null
  created_by: string | null
  created_at: string | null
  updated_at: string | null
  indexed_at: string | null
  wanted: number | null
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * The caller's access to several knowledge bases.
 * @see prisma/sql/knowledge/read-knowledge-bases-access.sql
 */
export const readKnowledgeBasesAccess = many<{ user_id: string; ids: readonly string[] }, ReadKnowledgeBasesAccessRow>(
  'knowledge/read-knowledge-bases-access',
  `SELECT k.id, k.project_id, k.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = k.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id) AS project_status FROM knowledge_bases k WHERE k.id = ANY($2)`,
  ['user_id', 'ids'],
  { reads: true },
)
export interface ReadKnowledgeBasesAccessRow {
  id: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Like `open-knowledge-base`, but locks the knowledge base against deletion, and its project.
 * @see prisma/sql/knowledge/reference-knowledge-base.sql
 */
export const referenceKnowledgeBase = optional<{ user_id: string; id: string }, ReferenceKnowledgeBaseRow>(
  'knowledge/reference-knowledge-base',
  `SELECT k.id, k.name, k.description,
jsonb_build_object('max_tokens', k.max_tokens, 'overlap_tokens', k.overlap_tokens) AS chunking,
(SELECT jsonb_build_object(
   'queued', coalesce(sum(c.count) FILTER (WHERE c.status = 'queued'), 0),
   'processing', coalesce(sum(c.count) FILTER (WHERE c.status = 'processing'), 0),
   'ready', coalesce(sum(c.count) FILTER (WHERE c.status = 'ready'), 0),
   'failed', coalesce(sum(c.count) FILTER (WHERE c.status = 'failed'), 0))
 FROM document_counts c WHERE c.knowledge_base_id = k.id) AS document_counts,
k.metadata, k.owner_id AS created_by, k.created_at, k.updated_at, k.project_id, k.owner_id,
(locked_member(k.project_id, $1)).ai_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id FOR SHARE) AS project_status FROM knowledge_bases k WHERE k.id = $2
FOR KEY SHARE OF k`,
  ['user_id', 'id'],
)
export interface ReferenceKnowledgeBaseRow {
  id: string
  name: string
  description: string | null
  chunking: Schemas['Chunking']
  document_counts: Schemas['KnowledgeBase']['document_counts']
  metadata: Record<string, string>
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Sets the fields of a document that describe its text and chunks to those of an unparsed document, because
 * the text and chunks are deleted.
 * @see prisma/sql/knowledge/reset-index-fields.sql
 */
export const resetIndexFields = none<{ id: string }>(
  'knowledge/reset-index-fields',
  `UPDATE documents SET revision = revision + 1, tokens = 0, chunk_count = 0, indexed_at = NULL, charset = NULL
WHERE id = $1`,
  ['id'],
)

/**
 * Marks a document that was being processed as queued.
 * @see prisma/sql/knowledge/return-document-to-queue.sql
 */
export const returnDocumentToQueue = none<{ id: string; wanted: number }>(
  'knowledge/return-document-to-queue',
  `UPDATE documents SET status = 'queued', updated_at = greatest(now(), updated_at + interval '1 millisecond')
WHERE id = $1 AND wanted = $2 AND status = 'processing'`,
  ['id', 'wanted'],
)

/**
 * Marks a document as failed. Without `warnings` those of the index that it still has stay.
 * @see prisma/sql/knowledge/set-document-failed.sql
 */
export const setDocumentFailed = one<{ error: object | string; warnings: object | string | null; id: string }, SetDocumentFailedRow>(
  'knowledge/set-document-failed',
  `WITH d AS (
  UPDATE documents SET status = 'failed', error = $1, warnings = coalesce($2, warnings),
    updated_at = greatest(now(), updated_at + interval '1 millisecond')
  WHERE id = $3 RETURNING *
)
SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id, k.owner_id, d.wanted FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`,
  ['error', 'warnings', 'id'],
)
export interface SetDocumentFailedRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  project_id: string | null
  owner_id: string
  wanted: number
}

/**
 * Marks a document as parsed. A new text makes a new revision.
 * @see prisma/sql/knowledge/set-document-ready.sql
 */
export const setDocumentReady = one<{ is_new: boolean; charset: string | null; warnings: object | string; tokens: number; chunk_count: number; embedding_model: string | null; id: string }, SetDocumentReadyRow>(
  'knowledge/set-document-ready',
  `WITH d AS (
  UPDATE documents SET status = 'ready', error = NULL, revision = revision + CASE WHEN $1 THEN 1
    ELSE 0 END,
    charset = $2, warnings = $3, tokens = $4, chunk_count = $5,
    embedding_model = $6,
    indexed_at = now(), updated_at = greatest(now(), updated_at + interval '1 millisecond')
  WHERE id = $7 RETURNING *
)
SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id, k.owner_id, d.wanted FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`,
  ['is_new', 'charset', 'warnings', 'tokens', 'chunk_count', 'embedding_model', 'id'],
)
export interface SetDocumentReadyRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  project_id: string | null
  owner_id: string
  wanted: number
}

/**
 * Subtracts a batch of removed chunks from the counts of a knowledge base.
 * @see prisma/sql/knowledge/subtract-removed-chunks.sql
 */
export const subtractRemovedChunks = one<{ knowledge_base_id: string; limit: number }, SubtractRemovedChunksRow>(
  'knowledge/subtract-removed-chunks',
  `SELECT subtract_removed_chunks($1, $2) AS "n"`,
  ['knowledge_base_id', 'limit'],
)
export interface SubtractRemovedChunksRow {
  n: number
}

/**
 * `hold-lexemes` if no other transaction holds them, and whether the knowledge base exists.
 * @see prisma/sql/knowledge/try-hold-lexemes.sql
 */
export const tryHoldLexemes = one<{ knowledge_base_id: string }, TryHoldLexemesRow>(
  'knowledge/try-hold-lexemes',
  `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 7311903266)) AS locked,
  EXISTS (SELECT FROM knowledge_bases WHERE id = $1) AS exists`,
  ['knowledge_base_id'],
)
export interface TryHoldLexemesRow {
  locked: boolean
  exists: boolean
}

/**
 * Replaces the text that a document was created from.
 * @see prisma/sql/knowledge/update-document-source.sql
 */
export const updateDocumentSource = none<{ source: string; sha256: string; id: string }>(
  'knowledge/update-document-source',
  `UPDATE documents SET source = $1, sha256 = $2, bytes = octet_length($1) WHERE id = $3`,
  ['source', 'sha256', 'id'],
)

/**
 * Changes the fields of a document that are given.
 * @see prisma/sql/knowledge/update-document.sql
 */
export const updateDocument = one<{ name: string | null; metadata: object | string | null; id: string }, UpdateDocumentRow>(
  'knowledge/update-document',
  `WITH d AS (
  UPDATE documents SET name = coalesce($1, name), metadata = coalesce($2, metadata),
    updated_at = greatest(now(), updated_at + interval '1 millisecond')
  WHERE id = $3 RETURNING *
)
SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id, k.owner_id, d.wanted FROM d JOIN knowledge_bases k ON k.id = d.knowledge_base_id`,
  ['name', 'metadata', 'id'],
)
export interface UpdateDocumentRow {
  id: string
  knowledge_base_id: string
  name: string
  source: Schemas['KnowledgeDocument']['source']
  content_type: string
  charset: string | null
  status: 'queued' | 'processing' | 'ready' | 'failed'
  error: NonNullable<Schemas['KnowledgeDocument']['error']> | null
  warnings: Schemas['KnowledgeDocument']['warnings']
  sha256: string
  tokens: number
  chunk_count: number
  metadata: Record<string, string>
  created_by: string | null
  created_at: string
  updated_at: string
  indexed_at: string | null
  project_id: string | null
  owner_id: string
  wanted: number
}

/**
 * Stores the parsed text of a document, with what searches read of it.
 * @see prisma/sql/knowledge/upsert-document-text.sql
 */
export const upsertDocumentText = none<{ knowledge_base_id: string; document_id: string; name: string; metadata: object | string; embedding_model: string | null; text: string; pages: object | string | null }>(
  'knowledge/upsert-document-text',
  `INSERT INTO document_texts (knowledge_base_id, document_id, name, metadata, embedding_model, text, pages)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (knowledge_base_id, document_id) DO UPDATE SET name = excluded.name,
  metadata = excluded.metadata, embedding_model = excluded.embedding_model, is_searchable = true,
  text = excluded.text, pages = excluded.pages`,
  ['knowledge_base_id', 'document_id', 'name', 'metadata', 'embedding_model', 'text', 'pages'],
)
