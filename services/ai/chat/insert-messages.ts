// Inserts the two messages of a turn: the question, and the empty answer that generation.ts fills.
import * as sql from '../../../generated/sql/chat.ts'
import type { components } from '../../../generated/types.ts'
import { builtinModel } from '../../../infra/config/ai-providers.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../../infra/database/heartbeats.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Principal } from '../../users/authentication.ts'
import type { ModelOptions, Providers } from '../providers/providers.ts'
import type { AnswerRequest } from './answer-limits.ts'
import type { AnswerFormat } from './answer-format.ts'
import type { GenerationTask } from './live-answer.ts'
import { findMessage, type HistoryMessage, type OwnedMessage } from './messages.ts'
import { contextWindowOf, requireFits, reservationFor, type Conversation } from './prompt.ts'
import { callerParameters } from '../search/scope.ts'
import { findSession, titleFrom, type OwnedSession } from './sessions.ts'

interface InsertServices {
  providers: Pick<Providers, 'models' | 'priceOf'>
  events: Emitter
}

/** The caller has locked the session, so that the position is unique. */
export async function insertQuestion(
  tx: Transaction,
  session: OwnedSession,
  { userId, credentialId }: Principal,
  { content, imageFileIds = [] }: { content: string; imageFileIds?: string[] },
  metadata: Record<string, string> = {},
): Promise<void> {
  const id = newId('msg')
  await sql.insertMessage(tx, {
    id,
    session_id: session.id,
    usage_project_id: session.project_id,
    user_id: userId,
    api_key_id: credentialId,
    role: 'user',
    content,
    image_file_ids: imageFileIds,
    status: 'completed',
    model: null,
    metadata,
    workspace_ids: [],
    searched: null,
    reserved_tokens: 0,
    reserved_cost_micros: 0,
    heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
    key_digest: null,
    body_hash: null,
    created_at: timeOf(id),
  })
}

interface NewAnswer {
  session: OwnedSession | null
  model: string
  body: Pick<
    components['schemas']['ChatRequest'],
    'project_id' | 'knowledge_base_ids' | 'filters' | 'temperature' | 'max_tokens' | 'stop'
  >
  /** How many messages the session gains. */
  addedMessages: number
  /** The messages of the session that are part of the conversation. */
  history: HistoryMessage[]
  conversation: Conversation
  fields?: ModelOptions['fields']
  format?: AnswerFormat | null
  metadata?: Record<string, string>
}

/**
 * Inserts an empty answer with the status `in_progress`, and names a session without a title after its first
 * question.
 * @returns the message and its task. Throws 400 if the question does not fit into the context window.
 */
export async function insertAnswer(
  tx: Transaction,
  services: InsertServices,
  { id: requestId, clientRequestId, principal, idempotency }: Omit<AnswerRequest, 'operation'>,
  { session, addedMessages, model, body, history, conversation, ...asked }: NewAnswer,
): Promise<{ message: OwnedMessage; task: GenerationTask }> {
  const { fields, format = null, metadata = {} } = asked
  const { temperature, max_tokens: maxTokens, stop } = body
  const options = { temperature, maxTokens, stop, fields }
  const { models } = services.providers
  const contextWindow = contextWindowOf(
    models.find(({ id }) => id === model)!,
    options,
  )
  requireFits(conversation, contextWindow)
  const knowledgeBaseIds = await knowledgeBasesFor(tx, { principal, session, model, body })
  if (session !== null && session.title === null)
    await setTitle(tx, services, session, titleFrom(conversation.question))
  const workspaceIds = await sourceWorkspaces(tx, principal, knowledgeBaseIds, history)
  const reserved = reservationFor(conversation, contextWindow, knowledgeBaseIds.length > 0)
  const id = newId('msg')
  const projectId = body.project_id ?? session?.project_id ?? null
  const inserted = sql.insertMessage(tx.later, {
    id,
    session_id: session?.id ?? null,
    usage_project_id: projectId,
    user_id: principal.userId,
    api_key_id: principal.credentialId,
    role: 'assistant',
    content: '',
    image_file_ids: [],
    status: 'in_progress',
    model,
    metadata,
    workspace_ids: workspaceIds,
    reserved_tokens: reserved,
    reserved_cost_micros: Math.ceil(reserved * (services.providers.priceOf(model)?.output ?? 0)),
    heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
    searched: knowledgeBaseIds.length === 0 ? null : { knowledge_base_ids: knowledgeBaseIds, passages: 0 },
    key_digest: idempotency?.digest ?? null,
    body_hash: idempotency?.bodyHash ?? null,
    created_at: timeOf(id),
  })
  const counted =
    session !== null && sql.addSessionMessages(tx.later, { id: session.id, added_messages: addedMessages })
  const [found] = await Promise.all([findMessage(tx, id, principal), inserted, counted])
  const message = found!
  return {
    message,
    task: {
      message,
      principal,
      projectId,
      requestId,
      clientRequestId,
      model,
      conversation,
      contextWindow,
      knowledgeBaseIds,
      filters: body.filters,
      options,
      format,
    },
  }
}

/**
 * The knowledge bases that the request or else the session names. For a request that names a project, all of
 * that project. If neither names any, `extractive-1`, which can only quote, searches all knowledge bases of
 * the workspace.
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
  const { project_id: projectId, knowledge_base_ids: ids } = body
  const all = projectId !== undefined && ids === undefined
  const named = ids ?? session?.knowledge_base_ids ?? []
  if (!all && (named.length > 0 || model !== builtinModel)) return named
  const workspaceId = projectId ?? session?.project_id ?? principal.userId
  return (await sql.listKnowledgeBases(db, { workspace_id: workspaceId })).map(({ id }) => id)
}

async function setTitle(
  tx: Transaction,
  { events }: InsertServices,
  { owner_id: userId, ...previous }: OwnedSession,
  title: string,
): Promise<void> {
  await sql.updateTitle(tx, { id: previous.id, title })
  await events.emit(tx, 'session.updated', await findSession(tx, previous.id), { previous, userId })
}

/** The workspaces whose documents may be part of an answer, directly or through the history. */
async function sourceWorkspaces(
  db: Db,
  principal: Principal,
  knowledgeBaseIds: string[],
  history: HistoryMessage[],
): Promise<string[]> {
  const direct = await sql.listWorkspaces(db, {
    ...callerParameters(principal),
    knowledge_base_ids: knowledgeBaseIds,
  })
  const ids = direct.map(({ workspace_id: workspace }) => workspace)
  return [...new Set(ids.concat(history.flatMap(({ workspace_ids: workspaces }) => workspaces)))]
}
