// Messages as the API returns them. A message contains a citation only if the caller may read the source at
// the time of the request.
import * as sql from '../../../generated/sql/chat.ts'
import type { components } from '../../../generated/types.ts'
import type { ListQuery } from '../../../infra/contract/query.ts'
import type { Db } from '../../../infra/database/database.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import type { Page } from '../../../infra/database/pagination.ts'
import type { Principal } from '../../users/authentication.ts'
import { requireAccess } from '../../projects/resource-access.ts'
import type { NewCitation } from '../extractive/answer.ts'
import { callerParameters } from '../search/scope.ts'

export type Message = components['schemas']['Message']
export type ChatResponse = components['schemas']['ChatResponse']

/** `at` is the length of the content when the citation was added. */
export type StoredCitation = NewCitation & { at: number }

interface MessageRequest {
  operation: Pick<OperationInfo, 'id' | 'method' | 'projectAccess'>
  params: { id: string }
  principal: Principal
}

/** A message with its author (`user_id`) and the owner of its session. */
export type OwnedMessage = Message & { user_id: string; owner_id: string }

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
  const read = lock ? sql.readMessageAndLockProject : sql.readMessage
  const found = await read(db, { id, ...callerParameters(principal) })
  requireAccess(found, request, { name: 'message', id })
  const { your_role: _role, project_status: _status, key_project_id: _key, ...message } = found
  return message
}

/** The message with the citations that the given user may read. */
export async function findMessage(
  db: Db,
  id: string,
  principal: Pick<Principal, 'userId' | 'projectIds'>,
): Promise<OwnedMessage | undefined> {
  return await sql.findMessage(db, { id, ...callerParameters(principal) })
}

/** One page of the messages of a session with the total, in one statement. */
export async function listMessages(
  db: Db,
  principal: Principal,
  sessionId: string,
  query: ListQuery<'listSessionMessages'>,
): Promise<Page<Message>> {
  return await sql.listMessages(db, {
    session_id: sessionId,
    ...callerParameters(principal),
    ...query,
    sort: 'position',
  })
}

export function toMessage({ user_id: _user, owner_id: _owner, ...message }: OwnedMessage): Message {
  return message
}

/** The answer to a chat request. */
export function toChatResponse(message: Message): ChatResponse {
  const { id, session_id, model, provider, role, content, tool_calls, refusal } = message
  const { citations, searched, status, finish_reason, usage } = message
  return {
    id,
    session_id,
    model: model!,
    provider,
    message: { id, role, content, citations, tool_calls, refusal },
    status,
    finish_reason,
    usage,
    searched,
    created_at: message.created_at,
  }
}

/** Characters of the longest history of a session that a model gets. */
const maxHistoryCharacters = 1_000_000

export interface HistoryMessage {
  id: string
  role: Message['role']
  content: string
  tool_calls?: Message['tool_calls']
  image_file_ids: string[]
  workspace_ids: string[]
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
  const newestFirst = await sql.readHistory(db, {
    session_id: sessionId,
    ...callerParameters(principal),
    before,
    max_characters: maxHistoryCharacters,
  })
  return newestFirst.reverse()
}
