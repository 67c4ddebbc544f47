// The end of an answer. One transaction stores the result, counts the token usage and emits the event. The
// process that generates an answer finishes it; if that process died, any other process may finish it.
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { ApiError, unavailable } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Principal } from '../../users/authentication.ts'
import { messageById, type OwnedMessage, type StoredCitation } from './messages.ts'
import type { AnswerContent } from './stream-events.ts'
import { countTokens } from './token-estimate.ts'
import type { Providers } from '../providers/providers.ts'
import { addUsage, costOf } from './usage.ts'

/** Seconds without a heartbeat after which the process that generates an answer counts as dead. */
export const heartbeatTimeoutSeconds = 30

const lastTimelyHeartbeat = `now() - interval '${heartbeatTimeoutSeconds} seconds'`
/**
 * SQL condition: the process that generates the message is alive. `column` may have the alias of the table.
 */
export const isAliveSql = (column = 'heartbeat_at'): string => `${column} > ${lastTimelyHeartbeat}`
/** SQL condition: the process that generated the message is dead. */
export const isStaleSql = (column = 'heartbeat_at'): string => `${column} < ${lastTimelyHeartbeat}`

export interface FinishServices {
  events: Emitter
  providers: Pick<Providers, 'priceOf'>
}

export type FinishReason = components['schemas']['FinishReason']

export interface Outcome {
  status: components['schemas']['MessageStatus']
  finishReason: FinishReason
  promptTokens: number
  completionTokens: number
  error: ApiError | null
}

export interface FinishedAnswer extends Outcome, AnswerContent {
  id: string
  model: string
  principal: Pick<Principal, 'userId' | 'projectIds'> & { keyId: string | null }
  /**
   * Whether a request with the same Idempotency-Key gets this answer. A failed answer never keeps its key.
   */
  keepIdempotencyKey: boolean
}

const storeResult = statement<{ session_id: string | null }>(`
  UPDATE ai_messages SET status = $2::"MessageStatus", finish_reason = $3, prompt_tokens = $4,
    completion_tokens = $5, content = $6, citations = $7::jsonb, error = $8::jsonb, heartbeat_at = NULL,
    key_digest = CASE WHEN $9 THEN key_digest END
  WHERE id = $1 AND status = 'in_progress' RETURNING session_id`)
const addSessionUsage = statement(`
  UPDATE ai_sessions SET prompt_tokens = prompt_tokens + $2, completion_tokens = completion_tokens + $3,
    last_message_at = now(), updated_at = now()
  WHERE id = $1`)

/** @returns the finished message, or null if it was deleted or is already finished. */
export async function finishMessage(
  tx: Db,
  { events, providers }: FinishServices,
  { id, model, principal, content, citations, keepIdempotencyKey, ...outcome }: FinishedAnswer,
): Promise<OwnedMessage | null> {
  const { status, finishReason, promptTokens, completionTokens, error } = outcome
  const [row] = await tx.sql(storeResult, [
    id,
    status,
    finishReason,
    promptTokens,
    completionTokens,
    content,
    JSON.stringify(citations),
    error === null ? null : JSON.stringify({ code: error.code, message: error.message }),
    keepIdempotencyKey && status !== 'failed',
  ])
  if (row === undefined) return null
  if (row.session_id !== null) await tx.sql(addSessionUsage, [row.session_id, promptTokens, completionTokens])
  if (principal.keyId !== null)
    await addUsage(tx, principal.keyId, {
      promptTokens,
      completionTokens,
      costMicros: costOf(outcome, providers.priceOf(model)),
    })
  const message = (await messageById(tx, id, principal))!
  const type =
    status === 'failed' ? 'chat.failed' : status === 'cancelled' ? 'chat.cancelled' : 'chat.completed'
  await events.emit(tx, type, message, { userId: message.owner_id })
  return message
}

const lockUnfinished = statement<{
  user_id: string
  api_key_id: string | null
  model: string
  prompt_tokens: number
  content: string
  citations: StoredCitation[]
}>(`
  SELECT user_id, api_key_id, model, prompt_tokens, content, citations
  FROM ai_messages WHERE id = $1 AND status = 'in_progress' FOR NO KEY UPDATE`)

/**
 * Finishes a message with the content that is stored so far. If a process still generates it, that process
 * notices at its next save and stops.
 */
export async function finishWithStoredContent(
  tx: Db,
  services: FinishServices,
  { id, status }: { id: string; status: 'failed' | 'cancelled' },
): Promise<void> {
  const [row] = await tx.sql(lockUnfinished, [id])
  if (row === undefined) return
  const { user_id: userId, api_key_id: keyId, model, prompt_tokens: promptTokens, content, citations } = row
  await finishMessage(tx, services, {
    id,
    model,
    principal: { userId, projectIds: null, keyId },
    content,
    citations,
    status,
    finishReason: null,
    promptTokens,
    completionTokens: countTokens(content),
    keepIdempotencyKey: true,
    error: status === 'failed' ? unavailable('The server stopped before the end of this answer.') : null,
  })
}

/** How many stale messages one call of `failStaleMessages` finishes at most. */
export const staleBatchSize = 100

const findStale = statement<{ id: string }>(`
  SELECT id FROM ai_messages
  WHERE status = 'in_progress' AND ${isStaleSql()} AND ($1::text IS NULL OR id = $1) LIMIT ${staleBatchSize}`)

/**
 * Finishes messages whose process died as `failed`: all of them, or only the message with the given id.
 * @returns how many messages it finished.
 */
export async function failStaleMessages(
  tx: Db,
  services: FinishServices,
  id: string | null = null,
): Promise<number> {
  const rows = await tx.sql(findStale, [id])
  for (const { id } of rows) await finishWithStoredContent(tx, services, { id, status: 'failed' })
  return rows.length
}

/** The error of a failed answer; null for any other message. */
export function errorOfMessage(message: OwnedMessage): ApiError | null {
  if (message.status !== 'failed') return null
  const { code, message: text } = message.error ?? { code: 'UNAVAILABLE', message: 'The answer failed.' }
  return new ApiError(
    code === 'RATE_LIMITED' ? 429 : code === 'INVALID_REQUEST' ? 400 : 503,
    code as ApiError['code'],
    text,
  )
}
