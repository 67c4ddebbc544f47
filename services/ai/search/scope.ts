// What a search may read: the knowledge bases that the caller may read at this moment, and the documents that
// the filters select. The statements themselves check the access, so that a removed member finds nothing.
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import type { Principal } from '../../users/authentication.ts'

/** The parameters $1 and $2 of `readable`: the user, and the projects of the API key or null for all. */
export function callerParameters({ userId, projectIds }: Principal): [string, string[] | null] {
  return [userId, projectIds === null ? null : [...projectIds]]
}

/** SQL condition: the user $1, with an API key for the projects $2, may read the knowledge base `k`. */
export const readable = `CASE WHEN k.project_id IS NULL THEN k.owner_id = $1 AND $2::text[] IS NULL
  ELSE ($2 IS NULL OR k.project_id = ANY($2)) AND EXISTS (
    SELECT FROM members m JOIN projects p ON p.id = m.project_id
    WHERE m.project_id = k.project_id AND m.user_id = $1 AND p.status <> 'deleted') END`

/**
 * SQL condition: searches may find the document `d`. A document that is parsed again keeps its previous
 * chunks until then; a document that was never parsed has none.
 */
export const searchableSql = `d.status <> 'failed'`

const countQueued = statement<{ count: number }>(`
  SELECT coalesce(sum(c.count), 0)::int AS count
  FROM document_counts c JOIN knowledge_bases k ON k.id = c.knowledge_base_id
  WHERE k.id = ANY($3) AND c.status IN ('queued', 'processing') AND ${readable}`)

/** The number of queued and processing documents in the knowledge bases that the caller may read. */
export async function countUnparsedDocuments(
  db: Db,
  principal: Principal,
  knowledgeBaseIds: string[],
): Promise<number> {
  if (knowledgeBaseIds.length === 0) return 0
  return (await db.sql(countQueued, [...callerParameters(principal), knowledgeBaseIds]))[0].count
}

interface ScopeRow {
  id: string
  language: string
  chunks: number
  tokens: number
  pgvector: boolean
}

const selectScope = statement<ScopeRow>(`
  SELECT k.id, c.language, c.chunks, c.tokens,
    EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') AS pgvector
  FROM knowledge_bases k JOIN chunk_counts c ON c.knowledge_base_id = k.id
  WHERE k.id = ANY($3) AND ${readable} ORDER BY c.chunks DESC`)

/** The knowledge bases of a search that the caller may read and that have chunks, and their statistics. */
export interface SearchScope {
  ids: string[]
  /** The text search configurations of the documents, without `simple`. */
  languages: string[]
  chunks: number
  /** Average tokens of a chunk. */
  averageTokens: number
  /** Whether the database has the extension pgvector. */
  pgvector: boolean
}

export async function findScope(
  db: Db,
  principal: Principal,
  knowledgeBaseIds: string[],
): Promise<SearchScope> {
  const rows = await db.sql(selectScope, [...callerParameters(principal), knowledgeBaseIds])
  const chunks = rows.reduce((sum, row) => sum + row.chunks, 0)
  return {
    ids: [...new Set(rows.map(({ id }) => id))],
    languages: [...new Set(rows.map(({ language }) => language))].filter((language) => language !== 'simple'),
    chunks,
    averageTokens: Math.max(1, rows.reduce((sum, row) => sum + row.tokens, 0) / Math.max(1, chunks)),
    pgvector: rows.some((row) => row.pgvector),
  }
}

export interface DocumentFilters {
  document_ids?: string[]
  metadata?: Record<string, string>
}

/**
 * The filters as an SQL condition on the document `d`, or an empty string. Adds their parameters to `values`.
 */
export function filterCondition({ document_ids: ids, metadata }: DocumentFilters, values: unknown[]): string {
  return [
    ...(ids === undefined ? [] : [`d.id = ANY($${values.push(ids)}::text[])`]),
    ...(metadata === undefined || Object.keys(metadata).length === 0
      ? []
      : [`d.metadata @> $${values.push(JSON.stringify(metadata))}::jsonb`]),
  ].join(' AND ')
}
