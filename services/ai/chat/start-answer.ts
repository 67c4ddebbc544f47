// Starts an answer: checks the request, stores the question and an empty answer with the status
// `in_progress`, and returns the task for generation.ts. All in one transaction.
import * as sql from '../../../generated/sql/chat.ts'
import type { components } from '../../../generated/types.ts'
import type { Db, Transaction } from '../../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../../infra/database/heartbeats.ts'
import { conflict, inProgress, invalidField, invalidState, notFound } from '../../../infra/errors.ts'
import type { Principal } from '../../users/authentication.ts'
import { readSettings } from '../../users/settings.ts'
import { requireUnrestrictedKey } from '../../projects/resource-access.ts'
import { openWorkspace } from '../../projects/workspaces.ts'
import {
  requireModel,
  requireVision,
  type ChatMessage,
  type ModelOptions,
  type Providers,
} from '../providers/providers.ts'
import { checkLimitsAndIdempotency, type AnswerRequest, type LimitServices } from './answer-limits.ts'
import type { AnswerFormat } from './answer-format.ts'
import { deleteMessagesAfter } from './edit-message.ts'
import { failStaleMessages, type FinishServices } from './finish-answer.ts'
import type { GenerationTask } from './live-answer.ts'
import { insertAnswer, insertQuestion } from './insert-messages.ts'
import { conversationMessages, readStoredContent } from './message-content.ts'
import { hasFiles, PartsReader, type Content, type PartsServices } from './message-parts.ts'
import { openMessage, readHistory, type OwnedMessage } from './messages.ts'
import type { Conversation } from './prompt.ts'
import { insertSession, openSession, titleFrom, type OwnedSession } from './sessions.ts'
import { requireKnowledgeBases } from '../knowledge/access.ts'
import { requireFilters } from '../search/filters.ts'
import { historyMessages, imagesOf, requireCallable, toolFieldsOf, withResults } from './tools.ts'

export type ChatRequest = components['schemas']['ChatRequest']
type RegenerateRequest = components['schemas']['RegenerateRequest']

interface Services extends LimitServices {
  providers: Providers
}

export interface StartServices extends Services {
  db: Db
}

type ChatServices = StartServices & PartsServices

/**
 * The answer and its task. `task` is null if the answer was already given to an earlier request with the same
 * Idempotency-Key.
 */
export interface StartedAnswer {
  message: OwnedMessage
  task: GenerationTask | null
}

/** Of `ChatRequest`; they are among the `fields` here. */
type ToolFieldName = 'tools' | 'tool_choice' | 'parallel_tool_calls'

/** A conversation that is not stored, with what the model is asked besides. */
export interface AskedConversation {
  /** The last one is a question, or the result of a tool. */
  messages: ChatMessage[]
  body: Omit<ChatRequest, 'message' | 'messages' | 'session_id' | ToolFieldName>
  fields?: ModelOptions['fields']
  format?: AnswerFormat | null
}

/** Throws 400, 403, 404, 409, 422 or 429, and then stores nothing. */
export async function startChat(
  { storage, ...services }: ChatServices,
  request: AnswerRequest,
  body: ChatRequest,
): Promise<StartedAnswer> {
  const reader = new PartsReader({ db: services.db, storage }, request)
  const contents = body.messages?.map(({ content }) => content) ?? [body.message]
  const field = body.messages === undefined ? 'message' : 'messages'
  const repeated = await openFiles(services, request, reader, contents, field)
  if (repeated !== null) return repeated
  requireAnswerable(body)
  const fields = toolFieldsOf(body)
  if (body.messages === undefined) {
    const { imageFileIds, ...question } = await readStoredContent(body.message!, 'message', reader)
    return await startAnswer(services, request, body, { messages: null, question, imageFileIds, fields })
  }
  const messages = await conversationMessages(body.messages, reader)
  const last = messages.at(-1)!
  return await startAnswer(services, request, body, {
    messages,
    question: last,
    query: queryOf(body, messages),
    ...(last.role === 'tool' && { last }),
    fields,
  })
}

/**
 * Opens the files of a request, unless it is repeated or over a limit: then it reads no files and parses no
 * documents. Returns the earlier answer of a repeated request.
 */
export async function openFiles(
  { db, ...services }: StartServices,
  request: AnswerRequest,
  reader: PartsReader,
  contents: Content[],
  field: string,
): Promise<StartedAnswer | null> {
  if (!hasFiles(contents)) return null
  const replayed = await db.transaction((tx) => checkLimitsAndIdempotency(tx, services, request))
  if (replayed !== null) return { message: replayed, task: null }
  await reader.openFiles(contents, field)
  return null
}

/** Throws as `startChat`. */
export async function startConversation(
  services: StartServices,
  request: AnswerRequest,
  { messages, body, fields, format }: AskedConversation,
): Promise<StartedAnswer> {
  const last = messages.at(-1)!
  const query = messages.findLast(({ role }) => role === 'user')?.content
  return await startAnswer(services, request, body, {
    messages,
    question: last,
    query,
    fields,
    format,
    ...(last.role === 'tool' && { last }),
  })
}

interface Asked {
  /** Null for the `message` of a session. */
  messages: ChatMessage[] | null
  question: Pick<ChatMessage, 'content' | 'images'>
  /** The images of a question that is stored. */
  imageFileIds?: string[]
  query?: string
  last?: ChatMessage
  fields?: ModelOptions['fields']
  format?: AnswerFormat | null
}

async function startAnswer(
  { db, ...services }: StartServices,
  request: AnswerRequest,
  body: AskedConversation['body'] & Partial<Pick<ChatRequest, 'message' | 'session_id' | 'tools'>>,
  { messages, question: asked, imageFileIds, query, last, fields, format }: Asked,
): Promise<StartedAnswer> {
  const { content: question, images } = asked
  const { principal } = request
  return await db.transaction(async (tx) => {
    const replayed = await checkLimitsAndIdempotency(tx, services, request)
    if (replayed !== null) return { message: replayed, task: null }
    const [existing, settings] = await Promise.all([
      openChatSession(tx, request, body.session_id),
      readSettings(tx, principal.userId),
    ])
    const storesHistory = body.message !== undefined && settings.ai.store_history
    const createsSession = existing === null && storesHistory
    if (existing === null && body.project_id === undefined) requireUnrestrictedKey(principal)
    await requireSearchable(tx, request, body, { session: existing, createsSession })
    const model = chosenModel(services, body, existing, settings)
    if ((messages ?? [asked]).some((message) => message.images !== undefined))
      requireVision(services.providers, model, messages === null ? 'message' : 'messages')
    const session =
      existing ?? (createsSession ? await createSession(tx, services, principal, body, question) : null)
    if (existing !== null) await requireIdle(tx, services, existing)
    const history = existing === null ? [] : await readHistory(tx, principal, existing.id)
    if (session !== null)
      await insertQuestion(tx, session, principal, { content: question, imageFileIds }, body.metadata)
    const earlier = messages?.slice(0, -1) ?? historyMessages(history)
    return await insertAnswer(tx, services, request, {
      session,
      addedMessages: 2,
      model,
      body,
      history,
      conversation: {
        ...conversationOf(session?.system_prompt ?? null, earlier, question),
        query,
        last: last ?? lastOf(question, images),
      },
      fields,
      format,
      metadata: session === null ? body.metadata : undefined,
    })
  })
}

/**
 * Generates a new answer to a question of a session. The message may be the question or its answer; the
 * messages after the question are deleted. Throws as `startChat`.
 */
export async function regenerate(
  { db, ...services }: StartServices,
  request: AnswerRequest & { params: { id: string } },
  body: RegenerateRequest,
): Promise<StartedAnswer> {
  const { principal } = request
  return await db.transaction(async (tx) => {
    const replayed = await checkLimitsAndIdempotency(tx, services, request)
    if (replayed !== null) return { message: replayed, task: null }
    const outside = 'Only messages of a session can be regenerated.'
    const { message, session } = await openInSession(tx, services, request, outside)
    await requireSearchable(tx, request, body, { session, createsSession: false })
    const settings = await readSettings(tx, principal.userId)
    const model = chosenModel(services, body, session, settings)
    const question = await sql.findQuestion(tx, { session_id: session.id, message_id: message.id })
    if (question === undefined) throw conflict('role', 'There is no message with the role `user` to answer.')
    if (question.image_file_ids.length > 0) requireVision(services.providers, model, 'model')
    await deleteMessagesAfter(tx, session.id, question.id)
    const history = await readHistory(tx, principal, session.id, question.position)
    return await insertAnswer(tx, services, request, {
      session,
      addedMessages: 1,
      model,
      body,
      history,
      conversation: {
        ...conversationOf(session.system_prompt, historyMessages(history), question.content),
        last: lastOf(question.content, imagesOf(question)),
      },
      fields: toolFieldsOf(body),
    })
  })
}

/**
 * Stores the results of the tools that an answer calls, and generates the next answer of the session. Throws
 * as `startChat`.
 */
export async function continueWithResults(
  { db, ...services }: StartServices,
  request: AnswerRequest & { params: { id: string } },
  body: components['schemas']['ToolResultsRequest'],
): Promise<StartedAnswer> {
  const { principal } = request
  return await db.transaction(async (tx) => {
    const replayed = await checkLimitsAndIdempotency(tx, services, request)
    if (replayed !== null) return { message: replayed, task: null }
    const outside = 'Only messages of a session are continued: send the results in `messages`.'
    const { message, session } = await openInSession(tx, services, request, outside)
    if (message.tool_calls == null) throw conflict('role', 'The message calls no tools.')
    const calls = withResults(message.tool_calls, body.results)
    const { goes_on: goesOn } = await sql.goesOn(tx, { session_id: session.id, id: message.id })
    if (goesOn) throw conflict('continued', 'The session has gone on after this message.')
    await requireSearchable(tx, request, body, { session, createsSession: false })
    const settings = await readSettings(tx, principal.userId)
    const model = chosenModel(services, body, session, settings)
    const fields = toolFieldsOf(body)
    await deleteMessagesAfter(tx, session.id, message.id)
    await tx.prisma.message.update({
      where: { id: message.id },
      data: { toolCalls: calls as never },
      select: { id: true },
    })
    const history = await readHistory(tx, principal, session.id)
    const messages = historyMessages(history)
    const last = messages.at(-1)
    // Its sources may not be readable any more.
    if (last?.role !== 'tool') throw notFound('message', message.id)
    const question = messages.findLast(({ role }) => role === 'user')?.content
    return await insertAnswer(tx, services, request, {
      session,
      addedMessages: 1,
      model,
      body,
      history,
      conversation: {
        ...conversationOf(session.system_prompt, messages.slice(0, -1), last.content),
        query: question,
        last,
      },
      fields,
    })
  })
}

/** A message and its session, which is locked. Throws 409 for a message without one, which says `outside`. */
async function openInSession(
  tx: Transaction,
  services: FinishServices,
  request: AnswerRequest & { params: { id: string } },
  outside: string,
): Promise<{ message: OwnedMessage; session: OwnedSession }> {
  const message = await openMessage(tx, request)
  if (message.session_id === null) throw conflict('session', outside)
  const session = await openSession(tx, { ...request, params: { id: message.session_id } }, { lock: true })
  await requireIdle(tx, services, session)
  return { message, session }
}

/** Throws 400 for a model that does not exist, and for tools that it cannot call. */
function chosenModel(
  { providers }: Pick<Services, 'providers'>,
  body: Pick<ChatRequest, 'model' | 'tools'>,
  session: OwnedSession | null,
  { ai }: Awaited<ReturnType<typeof readSettings>>,
): string {
  const model = body.model ?? session?.model ?? ai.default_model ?? providers.default
  requireModel(providers, model)
  requireCallable(model, body)
  return model
}

/** The last message is a question, or the result of a tool that the assistant called. */
function requireAnswerable({ messages }: ChatRequest): void {
  if (messages === undefined || messages.at(-1)!.role === 'user') return
  const caller = messages.findLast(({ role }) => role !== 'tool')
  if (messages.at(-1)!.role !== 'tool' || caller?.role !== 'assistant')
    throw invalidField(
      'messages',
      'role',
      'The last message must have the role `user`, or `tool` after a message of the `assistant`.',
    )
}

/** The last message of the user, for a conversation that ends with the result of a tool. */
function queryOf({ messages }: ChatRequest, read: ChatMessage[]): string | undefined {
  if (messages?.at(-1)!.role !== 'tool') return undefined
  return read[messages.findLastIndex(({ role }) => role === 'user')]?.content
}

/** A question with images is more than its text. */
function lastOf(content: string, images: ChatMessage['images']): ChatMessage | undefined {
  return images === undefined ? undefined : { role: 'user', content, images }
}

type SearchFields = Pick<ChatRequest, 'project_id' | 'knowledge_base_ids' | 'filters'>

/**
 * Throws 404, 403 or 400 if the caller may not search the project or the knowledge bases that the request
 * names, and 409 if a session cannot be created in the project.
 */
async function requireSearchable(
  tx: Transaction,
  request: AnswerRequest,
  { project_id: projectId, knowledge_base_ids: ids, filters }: SearchFields,
  { session, createsSession }: { session: OwnedSession | null; createsSession: boolean },
): Promise<void> {
  const { principal, operation } = request
  requireFilters(filters)
  if (projectId !== undefined) {
    // A new session belongs to the project. Otherwise the project is only read.
    const readOnly = { ...operation, projectAccess: { role: 'viewer' } }
    await openWorkspace(tx, { ...request, operation: createsSession ? operation : readOnly }, projectId, {
      lock: createsSession,
    })
    if (session !== null && session.project_id !== null && session.project_id !== projectId)
      throw invalidField('project_id', 'project', 'The session belongs to another project.')
  }
  if (ids !== undefined)
    await requireKnowledgeBases(tx, principal, ids, projectId ?? session?.project_id ?? null)
}

/** The locked session of a chat; null without `session_id`. */
async function openChatSession(
  tx: Transaction,
  request: AnswerRequest,
  id: string | undefined,
): Promise<OwnedSession | null> {
  return id === undefined ? null : await openSession(tx, { ...request, params: { id } }, { lock: true })
}

/** System messages of the conversation follow the system prompt of the session. */
function conversationOf(systemPrompt: string | null, earlier: ChatMessage[], question: string): Conversation {
  const system = [
    systemPrompt,
    ...earlier.filter(({ role }) => role === 'system').map(({ content }) => content),
  ].filter((text) => text !== null)
  return {
    system: system.length === 0 ? null : system.join('\n\n'),
    history: earlier
      .filter(({ role }) => role !== 'system')
      .map(({ role, content, images, toolCalls, toolCallId }) => ({
        role,
        content,
        images,
        toolCalls,
        toolCallId,
      })),
    question,
  }
}

async function createSession(
  tx: Transaction,
  { events }: Services,
  principal: Principal,
  body: AskedConversation['body'],
  question: string,
): Promise<OwnedSession> {
  const session = await insertSession(tx, {
    projectId: body.project_id ?? null,
    ownerId: principal.userId,
    title: titleFrom(question),
    model: body.model,
    knowledgeBaseIds: body.knowledge_base_ids,
  })
  await events.emit(tx, 'session.created', session, { userId: principal.userId })
  return { ...session, owner_id: principal.userId }
}

/** Throws 409 if the session is archived or has an answer in progress. */
async function requireIdle(tx: Transaction, services: FinishServices, session: OwnedSession): Promise<void> {
  if (session.status !== 'active') throw invalidState('session', session.status)
  const answers = await sql.listAnswersInProgress(tx, {
    session_id: session.id,
    heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
  })
  for (const { id, is_stale: isStale } of answers) {
    if (!isStale)
      throw inProgress('An answer of this session is in progress: wait for it, or cancel it.', 'session_id')
    await failStaleMessages(tx, services, id)
  }
}
