// Messages as the API shows them. What a message quotes is shown only to who may read where it is from, at that moment.
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { offsetOf, pageOfRows, type Page, type PageQuery } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../../projects/resource-access.ts'
import { usageColumn } from './sessions.ts'

export type Message = components['schemas']['Message']
export type Citation = components['schemas']['Citation']
export type ChatResponse = components['schemas']['ChatResponse']

/** A citation as it is stored, with which text of its document it is of, and the length that the content had when it was added. */
export type StoredCitation = Omit<Citation, 'stale'> & {
  /** Of its knowledge base: the project or, where it is in none, the user. It decides who may read it, also when the base is gone. */
  space_id: string
  revision: number
  at: number
}

/** Whether the caller ($2, with a key for the projects $3, or null for all) may read what is in a space. */
const readable = (space: string): string => `CASE WHEN ${space} = $2 THEN $3::text[] IS NULL
  ELSE ($3::text[] IS NULL OR ${space} = ANY($3)) AND EXISTS (
    SELECT 1 FROM members r WHERE r.project_id = ${space} AND r.user_id = $2 AND r.project_status <> 'deleted') END`

const citationsColumn = `coalesce((
  SELECT jsonb_agg((c - 'revision' - 'at' - 'space_id') || jsonb_build_object('stale', d.revision IS DISTINCT FROM (c ->> 'revision')::int) ORDER BY n)
  FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS cited (c, n)
    LEFT JOIN documents d ON d.id = c ->> 'document_id'
  WHERE ${readable("(c ->> 'space_id')")}), '[]') AS citations`

const messageColumns = `m.id, m.session_id, m.role::text, m.content, m.status::text, m.model, m.finish_reason, ${usageColumn('m')},
  ${citationsColumn}, m.error, m.metadata, m.created_at`

const from = `FROM (SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id WHERE m.id = $1) m`
const read = (lock: boolean) =>
  `SELECT ${messageColumns}, m.user_id, ${accessColumns('m', '$2', { lock })} ${from}`
const readMessage = statement<OwnedMessage & WorkspaceResource>(read(false))
const lockMessage = statement<OwnedMessage & WorkspaceResource>(read(true))

interface MessageRequest {
  operation: Pick<OperationInfo, 'id' | 'projectAccess'>
  params: { id: string }
  principal: Principal
}

/** A message with who asked, and whose the session is. */
export type OwnedMessage = Message & { user_id: string; owner_id: string }

function reader({ userId, projectIds }: Principal): unknown[] {
  return [userId, projectIds === null ? null : [...projectIds]]
}

/**
 * The message of the request, when the caller may do with it what the operation does. `lock` holds its project, as a
 * transaction that changes it wants; the session is what holds off other writers.
 */
export async function openMessage(
  db: Db,
  request: MessageRequest,
  { lock = false } = {},
): Promise<OwnedMessage> {
  const {
    params: { id },
    principal,
  } = request
  const [found] = await db.sql(lock ? lockMessage : readMessage, [id, ...reader(principal)])
  requireAccess(found, request, { name: 'message', id })
  const { your_role: _role, project_status: _status, ...message } = found
  return message
}

const one = statement<OwnedMessage>(`SELECT ${messageColumns}, m.project_id, m.user_id, m.owner_id ${from}`)

/** The message as its user may read it. */
export async function messageById(
  db: Db,
  id: string,
  principal: Pick<Principal, 'userId' | 'projectIds'>,
): Promise<OwnedMessage | undefined> {
  const [message] = await db.sql(one, [id, ...reader(principal as Principal)])
  return message
}

const list = (direction: 'ASC' | 'DESC') =>
  statement<Message & { total: number }>(`
  SELECT t.total::int, x.* FROM (SELECT count(*) AS total FROM ai_messages m WHERE m.session_id = $1) t LEFT JOIN LATERAL (
    SELECT ${messageColumns}, s.project_id FROM ai_messages m JOIN ai_sessions s ON s.id = m.session_id
    WHERE m.session_id = $1 ORDER BY m.position ${direction} LIMIT $4 OFFSET $5) x ON true`)
const lists = { asc: list('ASC'), desc: list('DESC') }

/** A page of the messages of a session: one statement, total included. */
export async function listMessages(
  db: Db,
  principal: Principal,
  sessionId: string,
  query: PageQuery & { order: 'asc' | 'desc' },
): Promise<Page<Message>> {
  return pageOfRows(
    await db.sql(lists[query.order], [sessionId, ...reader(principal), query.limit, offsetOf(query)]),
    query,
  )
}

/** The message as the API shows it. */
export function shownMessage({ user_id: _user, owner_id: _owner, ...message }: OwnedMessage): Message {
  return message
}

/** An answer as a chat gives it. */
export function responseOf(message: Message): ChatResponse {
  const { id, session_id, model, role, content, citations, status, finish_reason, usage, created_at } =
    message
  return {
    id,
    session_id,
    model: model!,
    message: { id, role, content, citations },
    status,
    finish_reason,
    usage,
    created_at,
  }
}

/** Of what was said, a model is given no more. */
const longest = { messages: 200, characters: 1_000_000 }

const history = statement<Said>(`
  SELECT id, role, content, space_ids FROM (
    SELECT m.id, m.role::text, m.content, m.space_ids, m.position, sum(length(m.content)) OVER (ORDER BY m.position DESC) AS characters FROM ai_messages m
    WHERE m.session_id = $1 AND m.position < $4 AND m.status IN ('completed', 'incomplete', 'cancelled') AND m.content <> ''
      AND NOT (m.role = 'user' AND EXISTS (
        SELECT 1 FROM ai_messages a WHERE a.session_id = $1 AND a.status = 'failed'
          AND a.position = (SELECT min(n.position) FROM ai_messages n WHERE n.session_id = $1 AND n.position > m.position)))
      AND NOT EXISTS (SELECT 1 FROM unnest(m.space_ids) AS space (id) WHERE NOT ${readable('space.id')})
    ORDER BY m.position DESC LIMIT ${longest.messages}
  ) h WHERE characters <= ${longest.characters} ORDER BY position DESC`)

export interface Said {
  id: string
  role: Message['role']
  content: string
  space_ids: string[]
}

/**
 * What was said in a session before a position, the oldest first, but for answers that drew on what the caller may not read any
 * more, and questions that no answer came to. The last 200 messages, of at most a million characters.
 */
export async function historyOf(
  db: Db,
  principal: Principal,
  sessionId: string,
  before = 2 ** 31 - 1,
): Promise<Said[]> {
  return (await db.sql(history, [sessionId, ...reader(principal), before])).reverse()
}
