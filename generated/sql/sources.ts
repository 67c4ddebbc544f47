// Generated from prisma/sql by `npm run generate`. Do not edit.
import { many, none, one, optional } from '../../infra/database/queries.ts'
import { page } from '../../infra/database/list.ts'
import type { components } from '../types.ts'

type Schemas = components['schemas']

/**
 * Takes a due source of an owner who has no other sync: first of the owner whose last turn is the longest
 * ago, then the source that has been due for the longest time. A lease that has ended is of a worker that
 * died.
 * @see prisma/sql/sources/claim-source.sql
 */
export const claimSource = optional<{ lease_seconds: number }, ClaimSourceRow>(
  'sources/claim-source',
  `WITH next AS MATERIALIZED (
  SELECT due.id, coalesce(p.owner_id, k.workspace_id) AS owner_id
  FROM knowledge_sources due JOIN knowledge_bases k ON k.id = due.knowledge_base_id
    LEFT JOIN projects p ON p.id = k.project_id
    LEFT JOIN source_turns t ON t.owner_id = coalesce(p.owner_id, k.workspace_id)
  WHERE due.next_sync_at <= now() AND (due.leased_until IS NULL OR due.leased_until < now())
    AND (k.project_id IS NULL OR p.status = 'active')
    AND coalesce(p.owner_id, k.workspace_id) NOT IN (
      SELECT coalesce(q.owner_id, o.workspace_id)
      FROM knowledge_sources busy JOIN knowledge_bases o ON o.id = busy.knowledge_base_id
        LEFT JOIN projects q ON q.id = o.project_id
      WHERE busy.leased_until >= now())
  ORDER BY t.claimed_at NULLS FIRST, due.next_sync_at LIMIT 1 FOR NO KEY UPDATE OF due SKIP LOCKED
), turn AS (
  INSERT INTO source_turns (owner_id, claimed_at) SELECT owner_id, now() FROM next
  ON CONFLICT (owner_id) DO UPDATE SET claimed_at = excluded.claimed_at
)
UPDATE knowledge_sources s
SET status = 'syncing', run = s.run + 1, leased_until = now() + $1 * interval '1 second'
FROM next WHERE s.id = next.id
RETURNING s.id, s.run, s.type, s.url, s.knowledge_base_id, s.created_by, s.failures`,
  ['lease_seconds'],
)
export interface ClaimSourceRow {
  id: string
  run: number
  type: 'page' | 'sitemap'
  url: string
  knowledge_base_id: string
  created_by: string
  failures: number
}

/**
 * The number of sources of a knowledge base.
 * @see prisma/sql/sources/count-sources.sql
 */
export const countSources = one<{ knowledge_base_id: string }, CountSourcesRow>(
  'sources/count-sources',
  `SELECT count(*)::int AS n FROM knowledge_sources WHERE knowledge_base_id = $1`,
  ['knowledge_base_id'],
  { reads: true },
)
export interface CountSourcesRow {
  n: number
}

/**
 * Deletes a page. Its document stays.
 * @see prisma/sql/sources/delete-page.sql
 */
export const deletePage = none<{ source_id: string; url: string }>(
  'sources/delete-page',
  `DELETE FROM source_pages WHERE source_id = $1 AND url = $2`,
  ['source_id', 'url'],
)

/**
 * Deletes a source.
 * @see prisma/sql/sources/delete-source.sql
 */
export const deleteSource = none<{ id: string }>(
  'sources/delete-source',
  `DELETE FROM knowledge_sources WHERE id = $1`,
  ['id'],
)

/**
 * Ends the sync `run` of a source. A source that fails is synced less often, but every week.
 * @see prisma/sql/sources/end-sync.sql
 */
export const endSync = optional<{ status: 'queued' | 'syncing' | 'synced' | 'failed'; error: object | string | null; last_sync: object | string; failures: number; id: string; run: number }, EndSyncRow>(
  'sources/end-sync',
  `UPDATE knowledge_sources s
SET status = $1, error = $2::jsonb, last_sync = $3::jsonb, last_synced_at = now(),
  failures = $4, leased_until = NULL, updated_at = now(),
  next_sync_at = CASE WHEN s.sync_interval_hours IS NOT NULL THEN now() + least(
    s.sync_interval_hours * power(2, least($4::int, 10)), greatest(168, s.sync_interval_hours)
  ) * interval '1 hour' END
FROM knowledge_bases k
WHERE s.id = $5 AND s.run = $6 AND k.id = s.knowledge_base_id
RETURNING s.id, s.knowledge_base_id, s.type, s.url, s.sync_interval_hours, s.status, s.error, s.last_sync,
s.last_synced_at, s.next_sync_at, s.created_by, s.created_at, s.updated_at, k.project_id, k.owner_id`,
  ['status', 'error', 'last_sync', 'failures', 'id', 'run'],
)
export interface EndSyncRow {
  id: string
  knowledge_base_id: string
  type: 'page' | 'sitemap'
  url: string
  sync_interval_hours: number | null
  status: 'queued' | 'syncing' | 'synced' | 'failed'
  error: NonNullable<Schemas['KnowledgeSource']['error']> | null
  last_sync: NonNullable<Schemas['KnowledgeSource']['last_sync']> | null
  last_synced_at: string | null
  next_sync_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Keeps the sync `run` of a source for longer. No row: it has ended, or another worker has it.
 * @see prisma/sql/sources/extend-lease.sql
 */
export const extendLease = optional<{ lease_seconds: number; id: string; run: number }, ExtendLeaseRow>(
  'sources/extend-lease',
  `UPDATE knowledge_sources SET leased_until = now() + $1 * interval '1 second'
WHERE id = $2 AND run = $3 RETURNING id`,
  ['lease_seconds', 'id', 'run'],
)
export interface ExtendLeaseRow {
  id: string
}

/**
 * Those pages of a source that have one of some URLs, each with the hash of its document; those that were
 * checked the longest time ago first.
 * @see prisma/sql/sources/find-pages.sql
 */
export const findPages = many<{ source_id: string; urls: readonly string[] }, FindPagesRow>(
  'sources/find-pages',
  `SELECT p.url, p.etag, p.last_modified, d.sha256
FROM source_pages p JOIN documents d ON d.id = p.document_id
WHERE p.source_id = $1 AND p.url = ANY($2) ORDER BY p.checked_at`,
  ['source_id', 'urls'],
  { reads: true },
)
export interface FindPagesRow {
  url: string
  etag: string | null
  last_modified: string | null
  sha256: string
}

/**
 * Locks the knowledge base, its project and the sync `run` of a source, so that none of them ends before the
 * transaction, and no other source changes its pages: the sources of a knowledge base share documents.
 * @see prisma/sql/sources/hold-sync.sql
 */
export const holdSync = optional<{ id: string; run: number }, HoldSyncRow>(
  'sources/hold-sync',
  `SELECT k.id,
  (SELECT status FROM projects WHERE id = k.project_id FOR SHARE) AS project_status
FROM knowledge_sources s JOIN knowledge_bases k ON k.id = s.knowledge_base_id
WHERE s.id = $1 AND s.run = $2
FOR NO KEY UPDATE OF k FOR SHARE OF s`,
  ['id', 'run'],
)
export interface HoldSyncRow {
  id: string
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Inserts a source, unless the knowledge base has one with the URL.
 * @see prisma/sql/sources/insert-source.sql
 */
export const insertSource = optional<{ id: string; knowledge_base_id: string; type: 'page' | 'sitemap'; url: string; sync_interval_hours: number | null; created_at: Date | string; created_by: string }, InsertSourceRow>(
  'sources/insert-source',
  `WITH s AS (
  INSERT INTO knowledge_sources (id, knowledge_base_id, type, url, sync_interval_hours, next_sync_at,
    created_by, created_at, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $6,
    $6)
  ON CONFLICT (knowledge_base_id, url) DO NOTHING RETURNING *
)
SELECT s.id, s.knowledge_base_id, s.type, s.url, s.sync_interval_hours, s.status, s.error, s.last_sync,
s.last_synced_at, s.next_sync_at, s.created_by, s.created_at, s.updated_at, k.project_id, k.owner_id FROM s JOIN knowledge_bases k ON k.id = s.knowledge_base_id`,
  ['id', 'knowledge_base_id', 'type', 'url', 'sync_interval_hours', 'created_at', 'created_by'],
)
export interface InsertSourceRow {
  id: string
  knowledge_base_id: string
  type: 'page' | 'sitemap'
  url: string
  sync_interval_hours: number | null
  status: 'queued' | 'syncing' | 'synced' | 'failed'
  error: NonNullable<Schemas['KnowledgeSource']['error']> | null
  last_sync: NonNullable<Schemas['KnowledgeSource']['last_sync']> | null
  last_synced_at: string | null
  next_sync_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * The URLs of the pages of a source, except some.
 * @see prisma/sql/sources/list-pages.sql
 */
export const listPages = many<{ source_id: string; except: readonly string[]; limit: number }, ListPagesRow>(
  'sources/list-pages',
  `SELECT url FROM source_pages WHERE source_id = $1 AND url <> ALL ($2) ORDER BY url LIMIT $3`,
  ['source_id', 'except', 'limit'],
  { reads: true },
)
export interface ListPagesRow {
  url: string
}

/**
 * The sources of a knowledge base.
 * @see prisma/sql/sources/list-sources.sql
 */
export const listSources = page<{ knowledge_base_id: string }, { created_after: Date | string; created_before: Date | string; updated_after: Date | string; updated_before: Date | string; created_by: string }, 'created_at', ListSourcesRow>(
  'sources/list-sources',
  {
    select: `SELECT s.id, s.knowledge_base_id, s.type, s.url, s.sync_interval_hours, s.status, s.error, s.last_sync,
s.last_synced_at, s.next_sync_at, s.created_by, s.created_at, s.updated_at, k.project_id
FROM knowledge_sources s JOIN knowledge_bases k ON k.id = s.knowledge_base_id
WHERE s.knowledge_base_id = $1`,
    names: ['knowledge_base_id', 'created_after', 'created_before', 'updated_after', 'updated_before', 'created_by'],
    filters: {
      created_after: { sql: `s.id >= id_at('src', $2)`, searches: true },
      created_before: { sql: `s.id < id_at('src', $3)`, searches: true },
      updated_after: { sql: `s.updated_at >= $4`, searches: true },
      updated_before: { sql: `s.updated_at < $5`, searches: true },
      created_by: { sql: `s.created_by = $6` },
    },
    sorts: {
      created_at: `s.id`,
    },
    id: `s.id`,
    totals: {
    },
  },
)
export interface ListSourcesRow {
  id: string
  knowledge_base_id: string
  type: 'page' | 'sitemap'
  url: string
  sync_interval_hours: number | null
  status: 'queued' | 'syncing' | 'synced' | 'failed'
  error: NonNullable<Schemas['KnowledgeSource']['error']> | null
  last_sync: NonNullable<Schemas['KnowledgeSource']['last_sync']> | null
  last_synced_at: string | null
  next_sync_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
}

/**
 * Serializes the claims of sources until the end of the transaction: two claims at once do not see each
 * other's sync of the same owner.
 * @see prisma/sql/sources/lock-claims.sql
 */
export const lockClaims = one<{}, LockClaimsRow>(
  'sources/lock-claims',
  `SELECT pg_advisory_xact_lock(hashtextextended('source claims', 0))::text AS locked`,
)
export interface LockClaimsRow {
  locked: string | null
}

/**
 * The document of a page, locked, if a page has added it and no other page has it.
 * @see prisma/sql/sources/lock-document-of-page.sql
 */
export const lockDocumentOfPage = optional<{ source_id: string; url: string }, LockDocumentOfPageRow>(
  'sources/lock-document-of-page',
  `SELECT d.id, d.knowledge_base_id, d.name,
jsonb_build_object(
  'type', CASE WHEN d.file_id IS NULL THEN 'text' ELSE 'file' END,
  'file_id', d.file_id
) AS source,
d.content_type, d.charset, d.status, d.error, d.warnings, d.sha256, d.tokens, d.chunk_count, d.metadata,
d.created_by, d.created_at, d.updated_at, d.indexed_at, k.project_id, k.owner_id, d.wanted
FROM documents d JOIN knowledge_bases k ON k.id = d.knowledge_base_id
  JOIN source_pages p ON p.document_id = d.id AND p.source_id = $1 AND p.url = $2 AND p.is_owner
WHERE NOT EXISTS (
  SELECT FROM source_pages o
  WHERE o.document_id = d.id AND (o.source_id, o.url) <> (p.source_id, p.url))
FOR NO KEY UPDATE OF d`,
  ['source_id', 'url'],
)
export interface LockDocumentOfPageRow {
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
 * Like `read-source`, but locks the knowledge base, the source and its project against other writers. The
 * sources of a knowledge base share documents, so their pages change one transaction after the other.
 * @see prisma/sql/sources/lock-source.sql
 */
export const lockSource = optional<{ user_id: string; knowledge_base_id: string; source_id: string }, LockSourceRow>(
  'sources/lock-source',
  `SELECT s.id, s.knowledge_base_id, s.type, s.url, s.sync_interval_hours, s.status, s.error, s.last_sync,
s.last_synced_at, s.next_sync_at, s.created_by, s.created_at, s.updated_at, k.project_id, k.owner_id,
(locked_member(k.project_id, $1)).ai_role AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id FOR SHARE) AS project_status FROM (
  SELECT * FROM knowledge_bases WHERE id = $2 FOR NO KEY UPDATE
) k LEFT JOIN LATERAL (
  SELECT * FROM knowledge_sources WHERE id = $3 AND knowledge_base_id = k.id FOR NO KEY UPDATE
) s ON true`,
  ['user_id', 'knowledge_base_id', 'source_id'],
)
export interface LockSourceRow {
  id: string | null
  knowledge_base_id: string | null
  type: 'page' | 'sitemap' | null
  url: string | null
  sync_interval_hours: number | null
  status: 'queued' | 'syncing' | 'synced' | 'failed' | null
  error: NonNullable<Schemas['KnowledgeSource']['error']> | null
  last_sync: NonNullable<Schemas['KnowledgeSource']['last_sync']> | null
  last_synced_at: string | null
  next_sync_at: string | null
  created_by: string | null
  created_at: string | null
  updated_at: string | null
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * A source and the caller's access to its knowledge base. Without a matching source the row has a null `id`,
 * so that a missing source (404) is distinguished from a forbidden one (403).
 * @see prisma/sql/sources/read-source.sql
 */
export const readSource = optional<{ user_id: string; source_id: string; knowledge_base_id: string }, ReadSourceRow>(
  'sources/read-source',
  `SELECT s.id, s.knowledge_base_id, s.type, s.url, s.sync_interval_hours, s.status, s.error, s.last_sync,
s.last_synced_at, s.next_sync_at, s.created_by, s.created_at, s.updated_at, k.project_id, k.owner_id,
(SELECT your_member.ai_role FROM members your_member
 WHERE your_member.project_id = k.project_id AND your_member.user_id = $1) AS your_role,
(SELECT its_project.status FROM projects its_project
 WHERE its_project.id = k.project_id) AS project_status FROM knowledge_bases k
LEFT JOIN LATERAL (
  SELECT * FROM knowledge_sources WHERE id = $2 AND knowledge_base_id = k.id
) s ON true WHERE k.id = $3`,
  ['user_id', 'source_id', 'knowledge_base_id'],
  { reads: true },
)
export interface ReadSourceRow {
  id: string | null
  knowledge_base_id: string | null
  type: 'page' | 'sitemap' | null
  url: string | null
  sync_interval_hours: number | null
  status: 'queued' | 'syncing' | 'synced' | 'failed' | null
  error: NonNullable<Schemas['KnowledgeSource']['error']> | null
  last_sync: NonNullable<Schemas['KnowledgeSource']['last_sync']> | null
  last_synced_at: string | null
  next_sync_at: string | null
  created_by: string | null
  created_at: string | null
  updated_at: string | null
  project_id: string | null
  owner_id: string
  your_role: 'owner' | 'admin' | 'editor' | 'viewer' | null
  project_status: 'active' | 'archived' | 'deleted' | null
}

/**
 * Makes a locked source due now.
 * @see prisma/sql/sources/request-sync.sql
 */
export const requestSync = one<{ id: string }, RequestSyncRow>(
  'sources/request-sync',
  `UPDATE knowledge_sources s SET status = 'queued', next_sync_at = now(), updated_at = now()
FROM knowledge_bases k WHERE s.id = $1 AND k.id = s.knowledge_base_id
RETURNING s.id, s.knowledge_base_id, s.type, s.url, s.sync_interval_hours, s.status, s.error, s.last_sync,
s.last_synced_at, s.next_sync_at, s.created_by, s.created_at, s.updated_at, k.project_id, k.owner_id`,
  ['id'],
)
export interface RequestSyncRow {
  id: string
  knowledge_base_id: string
  type: 'page' | 'sitemap'
  url: string
  sync_interval_hours: number | null
  status: 'queued' | 'syncing' | 'synced' | 'failed'
  error: NonNullable<Schemas['KnowledgeSource']['error']> | null
  last_sync: NonNullable<Schemas['KnowledgeSource']['last_sync']> | null
  last_synced_at: string | null
  next_sync_at: string | null
  created_by: string
  created_at: string
  updated_at: string
  project_id: string | null
  owner_id: string
}

/**
 * Gives the sync `run` of a source back, to begin again when the source may be synced.
 * @see prisma/sql/sources/return-sync.sql
 */
export const returnSync = none<{ id: string; run: number }>(
  'sources/return-sync',
  `UPDATE knowledge_sources SET status = 'queued', leased_until = NULL WHERE id = $1 AND run = $2`,
  ['id', 'run'],
)

/**
 * Ends the syncs of a source: the running one notices it before its next page.
 * @see prisma/sql/sources/stop-syncs.sql
 */
export const stopSyncs = none<{ id: string }>(
  'sources/stop-syncs',
  `UPDATE knowledge_sources SET run = run + 1, next_sync_at = NULL, leased_until = NULL WHERE id = $1`,
  ['id'],
)

/**
 * Notes that a page has not changed.
 * @see prisma/sql/sources/touch-page.sql
 */
export const touchPage = none<{ etag: string | null; last_modified: string | null; source_id: string; url: string }>(
  'sources/touch-page',
  `UPDATE source_pages SET checked_at = now(), etag = $1, last_modified = $2
WHERE source_id = $3 AND url = $4`,
  ['etag', 'last_modified', 'source_id', 'url'],
)

/**
 * Stores what a page is and which document it has. The document is of the sources if a page has added it.
 * @see prisma/sql/sources/upsert-page.sql
 */
export const upsertPage = none<{ source_id: string; url: string; document_id: string; etag: string | null; last_modified: string | null; created: boolean }>(
  'sources/upsert-page',
  `INSERT INTO source_pages (source_id, url, document_id, etag, last_modified, is_owner, checked_at)
VALUES ($1, $2, $3, $4, $5, $6 OR EXISTS (
  SELECT FROM source_pages p WHERE p.document_id = $3 AND p.is_owner), now())
ON CONFLICT (source_id, url) DO UPDATE SET document_id = excluded.document_id, etag = excluded.etag,
  last_modified = excluded.last_modified, is_owner = excluded.is_owner, checked_at = excluded.checked_at`,
  ['source_id', 'url', 'document_id', 'etag', 'last_modified', 'created'],
)
