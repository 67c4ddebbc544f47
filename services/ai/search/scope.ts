// The scope of a search: the knowledge bases that the caller may read at this moment. The statements
// themselves check the access, so that a removed member finds nothing.
import * as sql from '../../../generated/sql/search.ts'
import type { SqlClient } from '../../../infra/database/database.ts'
import type { Principal } from '../../users/authentication.ts'

/**
 * The parameters of `readable.sql` in prisma/sql/search and prisma/sql/chat. `project_ids`: the projects of
 * the API key, null for all.
 */
export function callerParameters({ userId, projectIds }: Pick<Principal, 'userId' | 'projectIds'>): {
  user_id: string
  project_ids: string[] | null
} {
  return { user_id: userId, project_ids: projectIds === null ? null : [...projectIds] }
}

/** The number of queued and processing documents in the knowledge bases that the caller may read. */
export async function countUnparsedDocuments(
  db: SqlClient,
  principal: Principal,
  knowledgeBaseIds: string[],
): Promise<number> {
  if (knowledgeBaseIds.length === 0) return 0
  const { count } = await sql.countUnparsedDocuments(db, {
    ...callerParameters(principal),
    knowledge_base_ids: knowledgeBaseIds,
  })
  return count
}

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
  db: SqlClient,
  principal: Principal,
  knowledgeBaseIds: string[],
): Promise<SearchScope> {
  const rows = await sql.readScope(db, {
    ...callerParameters(principal),
    knowledge_base_ids: knowledgeBaseIds,
  })
  const chunks = rows.reduce((sum, row) => sum + row.chunks, 0)
  return {
    ids: [...new Set(rows.map(({ id }) => id))],
    languages: [...new Set(rows.map(({ language }) => language))].filter((language) => language !== 'simple'),
    chunks,
    averageTokens: Math.max(1, rows.reduce((sum, row) => sum + row.tokens, 0) / Math.max(1, chunks)),
    pgvector: rows.some((row) => row.pgvector),
  }
}

/**
 * Runs a statement for each knowledge base, because their rows may be on different nodes. One after the
 * other, so that a search uses one connection.
 * @returns all rows, each with its knowledge base.
 */
export async function findInEach<Row>(
  { ids }: SearchScope,
  find: (base: string) => Promise<Row[]>,
): Promise<(Row & { base: string })[]> {
  const found: (Row & { base: string })[] = []
  for (const base of ids) found.push(...(await find(base)).map((row) => ({ ...row, base })))
  return found
}
