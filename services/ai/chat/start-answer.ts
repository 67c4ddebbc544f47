// The beginning of an answer: who may ask, what is asked and in the light of what, and the two messages that are then there,
// the question and the answer to be written. All in one transaction, or nothing.
import type { components } from '../../../generated/types.ts'
import type { Config } from '../../../infra/config/config.ts'
import { statement, type Db } from '../../../infra/database/database.ts'
import {
  ApiError,
  conflict,
  idempotencyMismatch,
  invalidField,
  invalidState,
  tooManyOpen,
} from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import { newId, timeOf } from '../../../infra/ids.ts'
import type { Keyed, OperationInfo } from '../../../infra/contract/operation.ts'
import type { Principal } from '../../users/authentication.ts'
import { readSettings } from '../../users/settings.ts'
import { requireOwnSpace } from '../../projects/resource-access.ts'
import { requireKnowledgeBases } from '../knowledge/access.ts'
import { historyOf, messageById, openMessage, type OwnedMessage, type Said } from './messages.ts'
import { endSilent, patience, type EndingServices } from './finish-answer.ts'
import { requireRoom, windowOf, type Conversation } from './prompt.ts'
import { insertSession, openSession, sessionById, type OwnedSession } from './sessions.ts'
import type { Turn, Upstreams } from '../providers/providers.ts'
import { extractive, type Task } from './generation.ts'

export type ChatRequest = components['schemas']['ChatRequest']
type RegenerateRequest = components['schemas']['RegenerateRequest']

export interface AskServices {
  db: Db
  config: Readonly<Config>
  events: Emitter
  upstreams: Upstreams
}

export interface AskRequest {
  id: string
  operation: OperationInfo
  principal: Principal
  keyed: Keyed | null
}

/** A message with what is to be written; without a task it is the answer to the same request before. */
export interface Begun {
  message: OwnedMessage
  task: Task | null
}

/** Throws 400, 403, 404, 409, 422 or 429, and then nothing is there. */
export async function beginChat(
  { db, ...services }: AskServices,
  request: AskRequest,
  ask: ChatRequest,
): Promise<Begun> {
  if (ask.messages !== undefined && ask.session_id !== undefined)
    throw invalidField(
      'messages',
      'session',
      'With session_id send message: the session has what was said before.',
    )
  if (ask.messages !== undefined && ask.messages.at(-1)!.role !== 'user')
    throw invalidField('messages', 'role', 'The last message has to be of the user.')
  const { principal } = request
  return await db.transaction(async (tx) => {
    const before = await takeTurn(tx, services, request)
    if (before !== null) return { message: before, task: null }
    if (ask.session_id === undefined) requireOwnSpace(principal)
    const given =
      ask.session_id === undefined
        ? null
        : await openSession(tx, { ...request, params: { id: ask.session_id } }, { lock: true })
    if (ask.knowledge_base_ids !== undefined)
      await requireKnowledgeBases(tx, principal, ask.knowledge_base_ids, given?.project_id ?? null)
    const settings = await readSettings(tx, principal.userId)
    const model = modelOf(services.upstreams, ask.model ?? given?.model ?? settings.ai.default_model)
    const question = ask.message ?? ask.messages!.at(-1)!.content
    const session =
      given ??
      (ask.message !== undefined && settings.ai.store_history
        ? await newSession(tx, services, principal, ask)
        : null)
    if (given !== null) await requireIdle(tx, services, given)
    const said = given === null ? [] : await historyOf(tx, principal, given.id)
    if (session !== null) await insertQuestion(tx, session, principal, question, ask.metadata)
    const conversation = conversationOf(
      session?.system_prompt ?? null,
      ask.messages?.slice(0, -1) ?? said,
      question,
    )
    return await answer(tx, services, request, {
      session,
      added: 2,
      model,
      ask,
      said,
      conversation,
      metadata: session === null ? ask.metadata : undefined,
    })
  })
}

/** Answers a message of a user in a session anew; what came after it goes. Throws as `beginChat`. */
export async function beginAgain(
  { db, ...services }: AskServices,
  request: AskRequest & { params: { id: string } },
  ask: RegenerateRequest,
): Promise<Begun> {
  const { principal } = request
  return await db.transaction(async (tx) => {
    const before = await takeTurn(tx, services, request)
    if (before !== null) return { message: before, task: null }
    const message = await openMessage(tx, request)
    if (message.session_id === null)
      throw conflict('session', 'Only messages of a session are answered anew.')
    const session = await openSession(tx, { ...request, params: { id: message.session_id } }, { lock: true })
    await requireIdle(tx, services, session)
    if (ask.knowledge_base_ids !== undefined)
      await requireKnowledgeBases(tx, principal, ask.knowledge_base_ids, session.project_id)
    const settings = await readSettings(tx, principal.userId)
    const model = modelOf(services.upstreams, ask.model ?? session.model ?? settings.ai.default_model)
    const [question] = await tx.sql(questionOf, [session.id, message.id])
    if (question === undefined) throw conflict('role', 'There is no message of a user to answer.')
    await removeAfter(tx, session.id, question.id)
    const said = await historyOf(tx, principal, session.id, question.position)
    return await answer(tx, services, request, {
      session,
      added: 1,
      model,
      ask,
      said,
      conversation: conversationOf(session.system_prompt, said, question.content),
    })
  })
}

type Services = Omit<AskServices, 'db'>

// Of one user one after the other: what they have open and used is then exact.
const takeUser = statement("SELECT pg_advisory_xact_lock(hashtextextended('ai ' || $1, 0))")
// A key whose answer was replaced or removed is with the question: what answers that now is the answer.
const look = statement<{
  open: number
  tokens: number
  seconds_left: number
  body_hash: Buffer | null
  repeated: string | null
  status: string | null
  silent: boolean | null
}>(`
  SELECT (SELECT count(*) FROM ai_messages WHERE api_key_id = $2 AND status = 'in_progress' AND beat_at > now() - interval '${patience} seconds')::int AS open,
    coalesce((SELECT prompt_tokens + completion_tokens FROM ai_usage WHERE api_key_id = $2 AND day = (now() AT TIME ZONE 'UTC')::date), 0) AS tokens,
    ceil(extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC') + interval '1 day' - (now() AT TIME ZONE 'UTC')))::int AS seconds_left,
    m.body_hash, a.id AS repeated, a.status::text, a.beat_at < now() - interval '${patience} seconds' AS silent
  FROM (SELECT 1) AS one LEFT JOIN ai_messages m ON m.user_id = $1 AND m.key_digest = $3 AND m.created_at > now() - interval '24 hours'
    LEFT JOIN LATERAL (SELECT CASE m.role WHEN 'user' THEN (
      SELECT n.id FROM ai_messages n WHERE n.session_id = m.session_id AND n.position > m.position AND n.role = 'assistant' ORDER BY n.position LIMIT 1
    ) ELSE m.id END AS id) AS answering ON true
    LEFT JOIN ai_messages a ON a.id = answering.id`)
const forget = statement(
  "UPDATE ai_messages SET key_digest = NULL WHERE user_id = $1 AND key_digest = $2 AND created_at <= now() - interval '24 hours'",
)

/** @returns the message of the same request before. Throws 403 and 404 where the caller may not have it, 409 while it is written, 422 for another body, 429 over a limit. */
async function takeTurn(
  tx: Db,
  { config, ...ending }: Services,
  request: AskRequest,
): Promise<OwnedMessage | null> {
  const { principal, keyed, operation } = request
  await tx.sql(takeUser, [principal.userId])
  const asked = [principal.userId, principal.keyId, keyed?.digest ?? null]
  let [now] = await tx.sql(look, asked)
  if (now.silent === true) {
    await endSilent(tx, ending, now.repeated)
    now = (await tx.sql(look, asked))[0]
  }
  const { open, tokens, seconds_left: seconds, repeated, body_hash: hash, status } = now
  if (hash !== null) {
    if (!hash.equals(keyed!.bodyHash)) throw idempotencyMismatch()
    if (repeated === null)
      throw conflict(
        'removed',
        'The answer to the request with this Idempotency-Key was removed since.',
        'Idempotency-Key',
      )
    const message = await openMessage(tx, { ...request, params: { id: repeated } })
    // A stream is followed from where it is.
    if (status === 'in_progress' && operation.id !== 'streamChat')
      throw conflict(
        'in_progress',
        'A request with this Idempotency-Key is still running.',
        'Idempotency-Key',
      )
    return message
  }
  if (keyed !== null) await tx.sql(forget, [principal.userId, keyed.digest])
  if (open >= config.aiStreamsPerKey) throw tooManyOpen('answers', config.aiStreamsPerKey)
  if (config.aiTokensPerDay > 0 && tokens >= config.aiTokensPerDay) {
    throw new ApiError(
      429,
      'RATE_LIMITED',
      `This key has used its ${config.aiTokensPerDay} tokens of today.`,
      { constraint: 'tokens_per_day' },
      { 'retry-after': String(seconds) },
    )
  }
  return null
}

function modelOf(upstreams: Upstreams, wanted: string | null): string {
  const model = wanted ?? upstreams.default
  if (!upstreams.has(model))
    throw invalidField('model', 'enum', `There is no model ${model}; GET /v1/ai/models lists them.`)
  return model
}

function conversationOf(system: string | null, earlier: Turn[], question: string): Conversation {
  const said = [
    system,
    ...earlier.filter(({ role }) => role === 'system').map(({ content }) => content),
  ].filter((text) => text !== null)
  return {
    system: said.length === 0 ? null : said.join('\n\n'),
    earlier: earlier.filter(({ role }) => role !== 'system').map(({ role, content }) => ({ role, content })),
    question,
  }
}

async function newSession(
  tx: Db,
  { events }: Services,
  principal: Principal,
  ask: ChatRequest,
): Promise<OwnedSession> {
  const session = await insertSession(tx, {
    projectId: null,
    ownerId: principal.userId,
    title: titleOf(ask.message!),
    model: ask.model,
    knowledgeBaseIds: ask.knowledge_base_ids,
  })
  await events.emit(tx, 'session.created', session, { userId: principal.userId })
  return { ...session, owner_id: principal.userId }
}

const written = statement<{ id: string; silent: boolean }>(`
  SELECT id, beat_at < now() - interval '${patience} seconds' AS silent FROM ai_messages WHERE session_id = $1 AND status = 'in_progress'`)

/** Throws 409 when the session takes no message now. */
async function requireIdle(tx: Db, ending: EndingServices, { id, status }: OwnedSession): Promise<void> {
  if (status !== 'active') throw invalidState('session', status)
  for (const { id: message, silent } of await tx.sql(written, [id])) {
    if (!silent)
      throw conflict('in_progress', 'The session is being answered: wait for it, or cancel it.', 'session_id')
    await endSilent(tx, ending, message)
  }
}

const entitle = statement('UPDATE ai_sessions SET title = $2, updated_at = now() WHERE id = $1')
const insert = statement(`
  INSERT INTO ai_messages (id, session_id, user_id, api_key_id, role, content, status, model, metadata, space_ids, key_digest, body_hash, beat_at, created_at, position)
  VALUES ($1, $2, $3, $4, $5::"MessageRole", $6, $7::"MessageStatus", $8, $9, $10, $11, $12, CASE WHEN $7 = 'in_progress' THEN now() END, $13,
    (SELECT coalesce(max(position), 0) + 1 FROM ai_messages WHERE session_id = $2))`)
const countMessages = statement(`
  UPDATE ai_sessions SET message_count = message_count + $2, last_message_at = now(), updated_at = now() WHERE id = $1`)

/** Into a session that is held, so that its place is its own. */
async function insertQuestion(
  tx: Db,
  session: OwnedSession,
  { userId, keyId }: Principal,
  content: string,
  metadata: Record<string, string> = {},
): Promise<void> {
  const id = newId('msg')
  await tx.sql(insert, [
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

interface Answer {
  session: OwnedSession | null
  model: string
  ask: Pick<ChatRequest, 'knowledge_base_ids' | 'temperature' | 'max_tokens' | 'stop'>
  /** How many messages the session has more by it. */
  added: number
  /** What of the session is in the conversation. */
  said: Said[]
  conversation: Conversation
  metadata?: Record<string, string>
}

async function answer(
  tx: Db,
  { upstreams, events }: Services,
  request: AskRequest,
  { session, added, model, ask, said, conversation, metadata = {} }: Answer,
): Promise<Begun> {
  const { principal, keyed } = request
  const window = windowOf(
    upstreams.models.find((known) => known.id === model)!,
    ask.max_tokens,
  )
  requireRoom(conversation, window)
  const named = ask.knowledge_base_ids ?? session?.knowledge_base_ids ?? []
  // What only quotes has to have something to quote.
  const knowledgeBaseIds =
    named.length === 0 && model === extractive
      ? await allOf(tx, session?.project_id ?? principal.userId)
      : named
  if (session !== null && session.title === null) {
    const title = titleOf(conversation.question)
    await tx.sql(entitle, [session.id, title])
    const { owner_id: userId, ...previous } = session
    await events.emit(tx, 'session.updated', await sessionById(tx, session.id), { previous, userId })
  }
  const spaceIds = new Set(
    (await tx.sql(spacesOf, [knowledgeBaseIds]))
      .map(({ space_id: space }) => space)
      .concat(said.flatMap(({ space_ids: spaces }) => spaces)),
  )
  const id = newId('msg')
  await tx.sql(insert, [
    id,
    session?.id ?? null,
    principal.userId,
    principal.keyId,
    'assistant',
    '',
    'in_progress',
    model,
    metadata,
    [...spaceIds],
    keyed?.digest ?? null,
    keyed?.bodyHash ?? null,
    timeOf(id),
  ])
  if (session !== null) await tx.sql(countMessages, [session.id, added])
  const message = (await messageById(tx, id, principal))!
  const { temperature, max_tokens: maxTokens, stop } = ask
  return {
    message,
    task: {
      message,
      principal,
      requestId: request.id,
      model,
      conversation,
      window,
      knowledgeBaseIds,
      options: { temperature, maxTokens, stop },
    },
  }
}

const spacesOf = statement<{ space_id: string }>(
  'SELECT DISTINCT space_id FROM knowledge_bases WHERE id = ANY($1)',
)
const ofSpace = statement<{ id: string }>(
  'SELECT id FROM knowledge_bases WHERE space_id = $1 ORDER BY id DESC LIMIT 100',
)

async function allOf(db: Db, spaceId: string): Promise<string[]> {
  return (await db.sql(ofSpace, [spaceId])).map(({ id }) => id)
}

const placeOf = '(SELECT position FROM ai_messages WHERE id = $2)'
const questionOf = statement<{ id: string; content: string; position: number }>(`
  SELECT id, content, position FROM ai_messages WHERE session_id = $1 AND position <= ${placeOf} AND role = 'user' ORDER BY position DESC LIMIT 1`)
const remove = statement<{ user_id: string; key_digest: Buffer | null; body_hash: Buffer | null }>(`
  WITH gone AS (DELETE FROM ai_messages WHERE session_id = $1 AND position > ${placeOf} RETURNING position, user_id, key_digest, body_hash),
    counted AS (UPDATE ai_sessions SET message_count = message_count - (SELECT count(*) FROM gone) WHERE id = $1)
  SELECT user_id, key_digest, body_hash FROM gone ORDER BY position LIMIT 1`)
const takeKey = statement(
  'UPDATE ai_messages SET key_digest = $3, body_hash = $4 WHERE id = $1 AND user_id = $2 AND key_digest IS NULL',
)

/** Removes what came after a message in its session, which is held. The Idempotency-Key of the answer to it stays with it. */
export async function removeAfter(tx: Db, sessionId: string, messageId: string): Promise<void> {
  const [answer] = await tx.sql(remove, [sessionId, messageId])
  if (answer?.key_digest)
    await tx.sql(takeKey, [messageId, answer.user_id, answer.key_digest, answer.body_hash])
}

/** The first sentence of what is asked, or as much of it as a title takes. */
export function titleOf(text: string): string {
  const line =
    text
      .trim()
      .split('\n')[0]
      .replace(/^[#>*\-\s]+/, '')
      .trim() || text.trim()
  const [{ segment }] = new Intl.Segmenter('und', { granularity: 'sentence' }).segment(line)
  const sentence = segment.trim()
  if (sentence.length <= 80) return sentence
  const cut = sentence.slice(0, 80).toWellFormed()
  const space = cut.lastIndexOf(' ')
  return `${(space > 40 ? cut.slice(0, space) : cut).replace(/�$/, '')}…`
}
