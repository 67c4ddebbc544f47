// Chat sessions as the API returns them, and their statements.
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { listPage, type Page, containsPattern } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../../projects/resource-access.ts'

export type Session = components['schemas']['Session']

/** The column `usage` from the two token counts of a row. */
export function usageColumn(alias: string): string {
  return `jsonb_build_object('prompt_tokens', ${alias}.prompt_tokens,
    'completion_tokens', ${alias}.completion_tokens,
    'total_tokens', ${alias}.prompt_tokens + ${alias}.completion_tokens) AS usage`
}

// The join leaves out deleted knowledge bases.
const sessionColumns = `s.id, s.project_id, s.title, s.model, s.system_prompt,
  ARRAY(
    SELECT k.id FROM unnest(s.knowledge_base_ids) WITH ORDINALITY AS named (id, n)
      JOIN knowledge_bases k ON k.id = named.id ORDER BY n) AS knowledge_base_ids,
  s.status::text, s.message_count, s.last_message_at, ${usageColumn('s')}, s.metadata,
  s.created_at, s.updated_at`

const read = (lock: boolean) =>
  `SELECT ${sessionColumns}, ${accessColumns('s', '$2', { lock })} FROM ai_sessions s WHERE s.id = $1`
const readSession = statement<Session & WorkspaceResource>(read(false))
const lockSession = statement<Session & WorkspaceResource>(`${read(true)} FOR NO KEY UPDATE OF s`)

interface SessionRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/** A session with its owner. */
export type OwnedSession = Session & { owner_id: string }

/**
 * The session of the request, in one statement. Throws 403, 404 or 409 if the operation is not allowed on it.
 * `lock` locks the row against other writers.
 */
export async function openSession(
  db: Db,
  request: SessionRequest,
  { lock = false } = {},
): Promise<OwnedSession> {
  const {
    params: { id },
    principal,
  } = request
  const [found] = await db.sql(lock ? lockSession : readSession, [id, principal.userId])
  requireAccess(found, request, { name: 'session', id })
  const { your_role: _role, project_status: _status, ...session } = found
  return session
}

export function toSession({ owner_id: _owner, ...session }: OwnedSession): Session {
  return session
}

const byId = statement<Session>(`SELECT ${sessionColumns} FROM ai_sessions s WHERE s.id = $1`)

export async function sessionById(db: Db, id: string): Promise<Session> {
  const [session] = await db.sql(byId, [id])
  return session
}

export interface NewSession {
  projectId: string | null
  ownerId: string
  title?: string | null
  model?: string | null
  systemPrompt?: string | null
  knowledgeBaseIds?: string[]
  metadata?: Record<string, string>
}

const insert = statement<Session>(`
  WITH s AS (
    INSERT INTO ai_sessions (id, project_id, owner_id, space_id, title, model, system_prompt,
      knowledge_base_ids, metadata, created_at, updated_at)
    VALUES ($1, $2, $3, coalesce($2, $3), $4, $5, $6, $7, $8, $9, $9) RETURNING *
  ) SELECT ${sessionColumns} FROM s`)

export async function insertSession(db: Db, session: NewSession): Promise<Session> {
  const id = newId('cs')
  const {
    projectId,
    ownerId,
    title = null,
    model = null,
    systemPrompt = null,
    knowledgeBaseIds = [],
    metadata = {},
  } = session
  const [row] = await db.sql(insert, [
    id,
    projectId,
    ownerId,
    title,
    model,
    systemPrompt,
    knowledgeBaseIds,
    metadata,
    timeOf(id),
  ])
  return row
}

export interface SessionListQuery {
  page: number
  limit: number
  sort: 'created_at' | 'updated_at'
  order: 'asc' | 'desc'
  status?: 'active' | 'archived'
  q?: string
}

/** One page of the sessions of a workspace with the total, in one statement. */
export async function listSessions(
  db: Db,
  workspaceId: string,
  query: SessionListQuery,
): Promise<Page<Session>> {
  const values: unknown[] = [workspaceId]
  const value = (v: unknown): string => `$${values.push(v)}`
  const filters = ['s.space_id = $1']
  if (query.status !== undefined) filters.push(`s.status = ${value(query.status)}::"SessionStatus"`)
  if (query.q !== undefined) filters.push(`lower(s.title) LIKE lower(${value(containsPattern(query.q))})`)
  // Ids sort by creation time.
  const key = query.sort === 'created_at' ? 's.id' : 's.updated_at'
  return await listPage<Session>(
    db,
    { from: 'ai_sessions s', columns: sessionColumns, filters, values, key, id: 's.id' },
    query,
  )
}

const maxTitleLength = 80

/** A title for a session: the first sentence of its first question, cut at a word after 80 characters. */
export function titleFrom(question: string): string {
  const line =
    question
      .trim()
      .split('\n')[0]
      .replace(/^[#>*\-\s]+/, '')
      .trim() || question.trim()
  const [{ segment }] = new Intl.Segmenter('und', { granularity: 'sentence' }).segment(line)
  const sentence = segment.trim()
  if (sentence.length <= maxTitleLength) return sentence
  const cut = sentence.slice(0, maxTitleLength).toWellFormed()
  const space = cut.lastIndexOf(' ')
  return `${(space > maxTitleLength / 2 ? cut.slice(0, space) : cut).replace(/�$/, '')}…`
}
