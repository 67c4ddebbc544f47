// Messages as the API returns them. A message contains a citation only if the caller may read the source at
// the time of the request.
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { listPage, type Page, type PageQuery } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import { accessColumns, requireAccess, type WorkspaceResource } from '../../projects/resource-access.ts'
import type { NewCitation } from '../extractive/answer.ts'
import { usageColumn } from './sessions.ts'

export type Message = components['schemas']['Message']
export type ChatResponse = components['schemas']['ChatResponse']

/** `at` is the length of the content when the citation was added. */
export type StoredCitation = NewCitation & { at: number }

/**
 * SQL condition: the caller ($2), with a key limited to the projects $3 or unlimited (null), may read a
 * workspace.
 */
const readable = (workspace: string): string => `CASE WHEN ${workspace} = $2 THEN $3::text[] IS NULL
  ELSE ($3::text[] IS NULL OR ${workspace} = ANY($3)) AND EXISTS (
    SELECT 1 FROM members r
    WHERE r.project_id = ${workspace} AND r.user_id = $2 AND r.project_status <> 'deleted') END`

const citationsColumn = `coalesce((
  SELECT jsonb_agg(
    (c - 'revision' - 'at' - 'space_id')
      || jsonb_build_object('stale', d.revision IS DISTINCT FROM (c ->> 'revision')::int) ORDER BY n)
  FROM jsonb_array_elements(m.citations) WITH ORDINALITY AS cited (c, n)
    LEFT JOIN documents d ON d.id = c ->> 'document_id'
  WHERE ${readable("(c ->> 'space_id')")}), '[]') AS citations`

const messageColumns = `m.id, m.session_id, m.role::text, m.content, m.status::text, m.model, m.finish_reason,
  ${usageColumn('m')}, ${citationsColumn}, m.error, m.metadata, m.created_at`

const from = `FROM (
  SELECT m.*, s.project_id, coalesce(s.owner_id, m.user_id) AS owner_id
  FROM ai_messages m LEFT JOIN ai_sessions s ON s.id = m.session_id WHERE m.id = $1) m`
const read = (lock: boolean) =>
  `SELECT ${messageColumns}, m.user_id, ${accessColumns('m', '$2', { lock })} ${from}`
const readMessage = statement<OwnedMessage & WorkspaceResource>(read(false))
const lockMessage = statement<OwnedMessage & WorkspaceResource>(read(true))

interface MessageRequest {
  operation: Pick<OperationInfo, 'id' | 'projectAccess'>
  params: { id: string }
  principal: Principal
}

/** A message with its author (`user_id`) and the owner of its session. */
export type OwnedMessage = Message & { user_id: string; owner_id: string }

/** The parameters $2 and $3 of `readable`. */
function reader({ userId, projectIds }: Pick<Principal, 'userId' | 'projectIds'>): unknown[] {
  return [userId, projectIds === null ? null : [...projectIds]]
}

/**
 * The message of the request. Throws 403, 404 or 409 if the operation is not allowed on it. `lock` locks its
 * project, as every transaction that changes a message must. The lock of the session keeps other writers of
 * the message out.
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

const byId = statement<OwnedMessage>(`SELECT ${messageColumns}, m.project_id, m.user_id, m.owner_id ${from}`)

/** The message with the citations that the given user may read. */
export async function messageById(
  db: Db,
  id: string,
  principal: Pick<Principal, 'userId' | 'projectIds'>,
): Promise<OwnedMessage | undefined> {
  const [message] = await db.sql(byId, [id, ...reader(principal)])
  return message
}

/** One page of the messages of a session with the total, in one statement. */
export async function listMessages(
  db: Db,
  principal: Principal,
  sessionId: string,
  query: PageQuery & { order: 'asc' | 'desc' },
): Promise<Page<Message>> {
  return await listPage<Message>(
    db,
    {
      from: 'ai_messages m JOIN ai_sessions s ON s.id = m.session_id',
      columns: `${messageColumns}, s.project_id`,
      filters: ['m.session_id = $1'],
      values: [sessionId, ...reader(principal)],
      // Positions are unique in a session, so no second sort key is needed.
      key: 'm.position',
      id: 'm.position',
      total: 'SELECT count(*) AS total FROM ai_messages m WHERE m.session_id = $1',
    },
    query,
  )
}

export function toMessage({ user_id: _user, owner_id: _owner, ...message }: OwnedMessage): Message {
  return message
}

/** The answer to a chat request. */
export function toChatResponse(message: Message): ChatResponse {
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

/** The longest history of a session that a model gets. */
const maxHistory = { messages: 200, characters: 1_000_000 }

const selectHistory = statement<HistoryMessage>(`
  SELECT id, role, content, space_ids FROM (
    SELECT m.id, m.role::text, m.content, m.space_ids, m.position,
      sum(length(m.content)) OVER (ORDER BY m.position DESC) AS characters
    FROM ai_messages m
    WHERE m.session_id = $1 AND m.position < $4 AND m.status IN ('completed', 'incomplete', 'cancelled')
      AND m.content <> ''
      AND NOT (m.role = 'user' AND EXISTS (
        SELECT 1 FROM ai_messages a WHERE a.session_id = $1 AND a.status = 'failed'
          AND a.position = (
            SELECT min(n.position) FROM ai_messages n WHERE n.session_id = $1 AND n.position > m.position)))
      AND NOT EXISTS (SELECT 1 FROM unnest(m.space_ids) AS space (id) WHERE NOT ${readable('space.id')})
    ORDER BY m.position DESC LIMIT ${maxHistory.messages}
  ) h WHERE characters <= ${maxHistory.characters} ORDER BY position DESC`)

export interface HistoryMessage {
  id: string
  role: Message['role']
  content: string
  space_ids: string[]
}

/**
 * The messages of a session before a position, oldest first: the last 200 messages, at most a million
 * characters. Leaves out answers from sources that the caller may no longer read, and questions whose answer
 * failed.
 */
export async function readHistory(
  db: Db,
  principal: Principal,
  sessionId: string,
  before = 2 ** 31 - 1,
): Promise<HistoryMessage[]> {
  return (await db.sql(selectHistory, [sessionId, ...reader(principal), before])).reverse()
}
