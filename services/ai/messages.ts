// Messages as the API shows them. What a message quotes is shown only to who may read where it is from, at that moment.
import type { components } from '../../generated/types.ts'
import { statement, type Db } from '../database.ts'
import type { OperationInfo } from '../operation.ts'
import { offsetOf, pageOfRows, type Page, type PageQuery } from '../pages.ts'
import type { Principal } from '../principals.ts'
import { accessColumns, requireAccess, type InSpace } from './access.ts'
import { usageColumn } from './sessions.ts'

export type Message = components['schemas']['Message']
export type Citation = components['schemas']['Citation']
export type ChatResponse = components['schemas']['ChatResponse']

/** A citation as it is stored, with which text of its document it is of, and the length that the content had when it was added. */
export type StoredCitation = Omit<Citation, 'stale'> & { knowledge_base_id: string, revision: number, at: number }

/** Whether the caller ($2, with a key for the projects $3, or null for all) may read a knowledge base. */
const readable = (alias: string): string => `CASE WHEN ${alias}.project_id IS NULL THEN ${alias}.owner_id = $2 AND $3::text[] IS NULL
  ELSE ($3::text[] IS NULL OR ${alias}.project_id = ANY($3)) AND EXISTS (
    SELECT 1 FROM members r WHERE r.project_id = ${alias}.project_id AND r.user_id = $2 AND r.project_status <> 'deleted') END`

const citationsColumn = `coalesce((
  SELECT jsonb_agg((c - 'revision' - 'at' - 'knowledge_base_id') || jsonb_build_object('stale', d.revision IS DISTINCT FROM (c ->> 'revision')::int) ORDER BY n)
  FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS cited (c, n)
    LEFT JOIN documents d ON d.id = c ->> 'document_id'
    LEFT JOIN knowledge_bases k ON k.id = c ->> 'knowledge_base_id'
  WHERE k.id IS NULL OR ${readable('k')}), '[]') AS citations`

const messageColumns = `m.id, m.session_id, m.role::text, m.content, m.status::text, m.model, m.finish_reason, ${usageColumn('m')},
  ${citationsColumn}, m.error, m.metadata, m.created_at`

const from = `FROM (SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id WHERE m.id = $1) m`
const read = (lock: boolean) => `SELECT ${messageColumns}, m.user_id, ${accessColumns('m', '$2', { lock })} ${from}`
const readMessage = statement<OwnedMessage & InSpace>(read(false))
const lockMessage = statement<OwnedMessage & InSpace>(read(true))

interface MessageRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
}

/** A message with who asked, and whose the session is. */
export type OwnedMessage = Message & { user_id: string, owner_id: string }

function reader ({ userId, projectIds }: Principal): unknown[] {
  return [userId, projectIds === null ? null : [...projectIds]]
}

/**
 * The message of the request, when the caller may do with it what the operation does. `lock` holds its project, as a
 * transaction that changes it wants; the session is what holds off other writers.
 */
export async function openMessage (db: Db, request: MessageRequest, { lock = false } = {}): Promise<OwnedMessage> {
  const { params: { id }, principal } = request
  const [found] = await db.sql(lock ? lockMessage : readMessage, [id, ...reader(principal)])
  requireAccess(found, request, { name: 'message', id })
  const { your_role: _role, project_status: _status, ...message } = found
  return message
}

const one = statement<OwnedMessage>(`SELECT ${messageColumns}, m.project_id, m.user_id, m.owner_id ${from}`)

/** The message as its user may read it. */
export async function messageById (db: Db, id: string, principal: Pick<Principal, 'userId' | 'projectIds'>): Promise<OwnedMessage | undefined> {
  const [message] = await db.sql(one, [id, ...reader(principal as Principal)])
  return message
}

const list = (direction: 'ASC' | 'DESC') => statement<Message & { total: number }>(`
  SELECT t.total::int, x.* FROM (SELECT count(*) AS total FROM ai_messages m WHERE m.session_id = $1) t LEFT JOIN LATERAL (
    SELECT ${messageColumns}, s.project_id FROM ai_messages m JOIN ai_sessions s ON s.id = m.session_id
    WHERE m.session_id = $1 ORDER BY m.id ${direction} LIMIT $4 OFFSET $5) x ON true`)
const lists = { asc: list('ASC'), desc: list('DESC') }

/** A page of the messages of a session: one statement, total included. */
export async function listMessages (db: Db, principal: Principal, sessionId: string, query: PageQuery & { order: 'asc' | 'desc' }): Promise<Page<Message>> {
  return pageOfRows(await db.sql(lists[query.order], [sessionId, ...reader(principal), query.limit, offsetOf(query)]), query)
}

/** The message as the API shows it. */
export function shownMessage ({ user_id: _user, owner_id: _owner, ...message }: OwnedMessage): Message {
  return message
}

/** An answer as a chat gives it. */
export function responseOf (message: Message): ChatResponse {
  const { id, session_id, model, role, content, citations, status, finish_reason, usage, created_at } = message
  return { id, session_id, model: model!, message: { id, role, content, citations }, status, finish_reason, usage, created_at }
}

const history = statement<{ id: string, role: Message['role'], content: string }>(`
  SELECT m.id, m.role::text, m.content FROM ai_messages m
  WHERE m.session_id = $1 AND m.status IN ('completed', 'incomplete', 'cancelled') AND m.content <> ''
    AND NOT (m.role = 'user' AND EXISTS (
      SELECT 1 FROM ai_messages a WHERE a.id = (SELECT min(id) FROM ai_messages n WHERE n.session_id = $1 AND n.id > m.id) AND a.status = 'failed'))
    AND NOT EXISTS (SELECT 1 FROM knowledge_bases k WHERE k.id = ANY(m.knowledge_base_ids) AND NOT (${readable('k')}))
  ORDER BY m.id DESC LIMIT 200`)

/**
 * What was said in a session, the oldest first, but for answers that drew on what the caller may not read any more, and
 * questions that no answer came to. The last 200 messages.
 */
export async function historyOf (db: Db, principal: Principal, sessionId: string): Promise<Array<{ id: string, role: Message['role'], content: string }>> {
  return (await db.sql(history, [sessionId, ...reader(principal)])).reverse()
}
