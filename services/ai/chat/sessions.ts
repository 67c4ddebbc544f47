// Sessions as the API shows them, and the statements behind them.
import type { components } from '../../../generated/types.ts'
import { type Db } from '../../../infra/database/database.ts'
import { statement, statementOf } from '../../../infra/database/statements.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { containsPattern, offsetOf, pageOfRows, type Page } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import { accessColumns, requireAccess, type InSpace } from '../../projects/resource-access.ts'

export type Session = components['schemas']['Session']

/** Tokens as the API shows them, of two columns. */
export function usageColumn(alias: string): string {
  return `jsonb_build_object('prompt_tokens', ${alias}.prompt_tokens, 'completion_tokens', ${alias}.completion_tokens,
    'total_tokens', ${alias}.prompt_tokens + ${alias}.completion_tokens) AS usage`
}

// A knowledge base that is deleted is in no session any more.
const sessionColumns = `s.id, s.project_id, s.title, s.model, s.system_prompt,
  ARRAY(SELECT k.id FROM unnest(s.knowledge_base_ids) WITH ORDINALITY AS named (id, n) JOIN knowledge_bases k ON k.id = named.id ORDER BY n) AS knowledge_base_ids,
  s.status::text, s.message_count, s.last_message_at, ${usageColumn('s')}, s.metadata, s.created_at, s.updated_at`

const read = (lock: boolean) =>
  `SELECT ${sessionColumns}, ${accessColumns('s', '$2', { lock })} FROM ai_sessions s WHERE s.id = $1`
const readSession = statement<Session & InSpace>(read(false))
const lockSession = statement<Session & InSpace>(`${read(true)} FOR NO KEY UPDATE OF s`)

interface SessionRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/** A session with whose it is. */
export type OwnedSession = Session & { owner_id: string }

/**
 * The session of the request, when the caller may do with it what the operation does. One statement; `lock` holds it against
 * other writers.
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

/** The session as the API shows it. */
export function shownSession({ owner_id: _owner, ...session }: OwnedSession): Session {
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
    INSERT INTO ai_sessions (id, project_id, owner_id, space_id, title, model, system_prompt, knowledge_base_ids, metadata, created_at, updated_at)
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

// TypeIDs sort by creation.
const sortKeys = { created_at: 's.id', updated_at: 's.updated_at' }

/** A page of the sessions of a space: one statement, total included. */
export async function listSessions(db: Db, spaceId: string, query: SessionListQuery): Promise<Page<Session>> {
  const values: unknown[] = [spaceId]
  const value = (v: unknown): string => `$${values.push(v)}`
  const filters = ['s.space_id = $1']
  if (query.status !== undefined) filters.push(`s.status = ${value(query.status)}::"SessionStatus"`)
  if (query.q !== undefined) filters.push(`lower(s.title) LIKE lower(${value(containsPattern(query.q))})`)
  const where = filters.join(' AND ')
  const direction = query.order === 'asc' ? 'ASC' : 'DESC'
  const key = sortKeys[query.sort]
  const order = key === 's.id' ? `s.id ${direction}` : `${key} ${direction}, s.id ${direction}`
  const text = `SELECT t.total::int, x.* FROM (SELECT count(*) AS total FROM ai_sessions s WHERE ${where}) t
    LEFT JOIN LATERAL (SELECT ${sessionColumns} FROM ai_sessions s WHERE ${where} ORDER BY ${order} LIMIT ${value(query.limit)} OFFSET ${value(offsetOf(query))}) x ON true`
  return pageOfRows(await db.sql(statementOf<Session & { total: number }>(text), values), query)
}
