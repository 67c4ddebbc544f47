// Inserts the two messages of a turn: the question, and the empty answer that generation.ts fills.
import type { components } from '../../../generated/types.ts'
import { builtinModel } from '../../../infra/config/ai-providers.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Principal } from '../../users/authentication.ts'
import type { Providers } from '../providers/providers.ts'
import type { AnswerRequest } from './answer-limits.ts'
import type { GenerationTask } from './live-answer.ts'
import { messageById, type HistoryMessage, type OwnedMessage } from './messages.ts'
import { contextWindowOf, requireFits, type Conversation } from './prompt.ts'
import { sessionById, titleFrom, type OwnedSession } from './sessions.ts'

interface InsertServices {
  providers: Pick<Providers, 'models'>
  events: Emitter
}

const insertMessage = statement(`
  INSERT INTO ai_messages (id, session_id, user_id, api_key_id, role, content, status, model, metadata,
    space_ids, key_digest, body_hash, heartbeat_at, created_at, position)
  VALUES ($1, $2, $3, $4, $5::"MessageRole", $6, $7::"MessageStatus", $8, $9, $10, $11, $12,
    CASE WHEN $7 = 'in_progress' THEN now() END, $13,
    (SELECT coalesce(max(position), 0) + 1 FROM ai_messages WHERE session_id = $2))`)

/** The caller has locked the session, so that the position is unique. */
export async function insertQuestion(
  tx: Db,
  session: OwnedSession,
  { userId, keyId }: Principal,
  content: string,
  metadata: Record<string, string> = {},
): Promise<void> {
  const id = newId('msg')
  await tx.sql(insertMessage, [
    id,
    session.id,
    userId,
    keyId,
    'user',
    content,
    'completed',
    null,
    metadata,
    [],
    null,
    null,
    timeOf(id),
  ])
}

interface NewAnswer {
  session: OwnedSession | null
  model: string
  body: Pick<
    components['schemas']['ChatRequest'],
    'knowledge_base_ids' | 'temperature' | 'max_tokens' | 'stop'
  >
  /** How many messages the session gains. */
  addedMessages: number
  /** The messages of the session that are part of the conversation. */
  history: HistoryMessage[]
  conversation: Conversation
  metadata?: Record<string, string>
}

const countMessages = statement(`
  UPDATE ai_sessions SET message_count = message_count + $2, last_message_at = now(), updated_at = now()
  WHERE id = $1`)

/**
 * Inserts an empty answer with the status `in_progress`, and names a session without a title after its first
 * question.
 * @returns the message and its task. Throws 400 if the question does not fit into the context window.
 */
export async function insertAnswer(
  tx: Db,
  services: InsertServices,
  { id: requestId, principal, idempotency }: Pick<AnswerRequest, 'id' | 'principal' | 'idempotency'>,
  { session, addedMessages, model, body, history, conversation, metadata = {} }: NewAnswer,
): Promise<{ message: OwnedMessage; task: GenerationTask }> {
  const { temperature, max_tokens: maxTokens, stop } = body
  const { models } = services.providers
  const contextWindow = contextWindowOf(
    models.find(({ id }) => id === model)!,
    maxTokens,
  )
  requireFits(conversation, contextWindow)
  const knowledgeBaseIds = await knowledgeBasesFor(tx, { principal, session, model, body })
  if (session !== null && session.title === null)
    await setTitle(tx, services, session, titleFrom(conversation.question))
  const workspaceIds = await sourceWorkspaces(tx, knowledgeBaseIds, history)
  const id = newId('msg')
  await tx.sql(insertMessage, [
    id,
    session?.id ?? null,
    principal.userId,
    principal.keyId,
    'assistant',
    '',
    'in_progress',
    model,
    metadata,
    workspaceIds,
    idempotency?.digest ?? null,
    idempotency?.bodyHash ?? null,
    timeOf(id),
  ])
  if (session !== null) await tx.sql(countMessages, [session.id, addedMessages])
  const message = (await messageById(tx, id, principal))!
  const options = { temperature, maxTokens, stop }
  return {
    message,
    task: { message, principal, requestId, model, conversation, contextWindow, knowledgeBaseIds, options },
  }
}

const knowledgeBasesOfWorkspace = statement<{ id: string }>(
  'SELECT id FROM knowledge_bases WHERE space_id = $1 ORDER BY id DESC LIMIT 100',
)

/**
 * The knowledge bases that the request or else the session names. If neither names any, `extractive-1`, which
 * can only quote, searches all knowledge bases of the workspace.
 */
async function knowledgeBasesFor(
  db: Db,
  {
    principal,
    session,
    model,
    body,
  }: Pick<NewAnswer, 'session' | 'model' | 'body'> & { principal: Principal },
): Promise<string[]> {
  const named = body.knowledge_base_ids ?? session?.knowledge_base_ids ?? []
  if (named.length > 0 || model !== builtinModel) return named
  const workspaceId = session?.project_id ?? principal.userId
  return (await db.sql(knowledgeBasesOfWorkspace, [workspaceId])).map(({ id }) => id)
}

const updateTitle = statement('UPDATE ai_sessions SET title = $2, updated_at = now() WHERE id = $1')

async function setTitle(
  tx: Db,
  { events }: InsertServices,
  { owner_id: userId, ...previous }: OwnedSession,
  title: string,
): Promise<void> {
  await tx.sql(updateTitle, [previous.id, title])
  await events.emit(tx, 'session.updated', await sessionById(tx, previous.id), { previous, userId })
}

const workspacesOf = statement<{ space_id: string }>(
  'SELECT DISTINCT space_id FROM knowledge_bases WHERE id = ANY($1)',
)

/** The workspaces whose documents may be part of an answer, directly or through the history. */
async function sourceWorkspaces(
  db: Db,
  knowledgeBaseIds: string[],
  history: HistoryMessage[],
): Promise<string[]> {
  const direct = (await db.sql(workspacesOf, [knowledgeBaseIds])).map(({ space_id: workspace }) => workspace)
  return [...new Set(direct.concat(history.flatMap(({ space_ids: workspaces }) => workspaces)))]
}
