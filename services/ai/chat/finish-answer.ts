// The end of an answer. One transaction stores the result, counts the token usage and emits the event. The
// process that generates an answer finishes it; if that process died, any other process may finish it.
import * as sql from '../../../generated/sql/chat.ts'
import type { components } from '../../../generated/types.ts'
import type { SqlClient, Transaction } from '../../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../../infra/database/heartbeats.ts'
import { ApiError, unavailable } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Principal } from '../../users/authentication.ts'
import { findMessage, type OwnedMessage } from './messages.ts'
import type { AnswerContent } from './stream-events.ts'
import { countTokens } from './token-estimate.ts'
import type { Providers } from '../providers/providers.ts'
import type { ToolCall } from '../providers/tool-calls.ts'
import { addUsage, costOf } from './usage.ts'

export interface FinishServices {
  events: Emitter
  providers: Pick<Providers, 'priceOf'>
}

export type FinishReason = components['schemas']['FinishReason']

export interface Outcome {
  status: components['schemas']['MessageStatus']
  finishReason: FinishReason
  promptTokens: number
  /** Those of them that the provider had in its cache. */
  cachedTokens: number
  completionTokens: number
  error: ApiError | null
}

export interface FinishedAnswer extends Outcome, AnswerContent {
  id: string
  toolCalls: ToolCall[]
  refusal: string | null
  model: string
  /** The provider that was asked last; null if none was, or that is not known. */
  provider: string | null
  principal: Pick<Principal, 'userId' | 'projectIds'> & { credentialId: string | null }
  /** The project to whose usage the answer counts; null outside projects. */
  projectId: string | null
  /** How many passages the search found; null if that is not known. */
  passages: number | null
  /**
   * Whether a request with the same Idempotency-Key gets this answer. A failed answer never keeps its key.
   */
  keepIdempotencyKey: boolean
}

/**
 * The usage of a message that was deleted during its answer, for example with its session, counts too.
 * @returns the finished message, or null if it was deleted or is already finished.
 */
export async function finishMessage(
  tx: Transaction,
  { events, providers }: FinishServices,
  {
    id,
    model,
    provider,
    principal,
    projectId,
    content,
    citations,
    toolCalls,
    refusal,
    passages,
    keepIdempotencyKey,
    ...outcome
  }: FinishedAnswer,
): Promise<OwnedMessage | null> {
  const { status, finishReason, promptTokens, completionTokens, error } = outcome
  const costMicros = costOf(outcome, providers.priceOf(model, provider))
  const row = await sql.finishMessage(tx, {
    id,
    status,
    finish_reason: finishReason,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    cost_micros: costMicros,
    provider,
    content,
    citations: JSON.stringify(citations),
    tool_calls:
      toolCalls.length === 0 ? null : JSON.stringify(toolCalls.map((call) => ({ ...call, result: null }))),
    refusal,
    passages,
    error: error === null ? null : { code: error.code, message: error.message },
    keep_idempotency_key: keepIdempotencyKey && status !== 'failed',
  })
  const countUsage = async (db: SqlClient): Promise<void> => {
    const { userId, credentialId } = principal
    if (credentialId === null) return
    const tokens = { promptTokens, completionTokens, costMicros }
    await addUsage(db, { userId, credentialId, projectId, model }, tokens)
  }
  if (row === undefined) {
    const stored = await sql.readStatus(tx, { id, heartbeat_timeout_seconds: heartbeatTimeoutSeconds })
    if (stored === undefined) await countUsage(tx)
    return null
  }
  const ofSession =
    row.session_id !== null &&
    sql.addSessionUsage(tx.later, {
      id: row.session_id,
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
    })
  const counted = countUsage(tx.later)
  const [found] = await Promise.all([findMessage(tx, id, principal), ofSession, counted])
  const message = found!
  const type =
    status === 'failed' ? 'chat.failed' : status === 'canceled' ? 'chat.canceled' : 'chat.completed'
  await events.emit(tx, type, message, { userId: message.owner_id })
  return message
}

/**
 * Finishes a message with the content that is stored so far. If a process still generates it, that process
 * notices at its next save and stops.
 */
export async function finishWithStoredContent(
  tx: Transaction,
  services: FinishServices,
  { id, status }: { id: string; status: 'failed' | 'canceled' },
): Promise<void> {
  const row = await sql.lockUnfinishedMessage(tx, { id })
  if (row === undefined) return
  const {
    user_id: userId,
    api_key_id: credentialId,
    usage_project_id: projectId,
    model,
    prompt_tokens: promptTokens,
    content,
    citations,
  } = row
  await finishMessage(tx, services, {
    id,
    model,
    provider: null,
    principal: { userId, projectIds: null, credentialId },
    projectId,
    content,
    citations,
    toolCalls: [],
    refusal: null,
    passages: null,
    status,
    finishReason: null,
    promptTokens,
    cachedTokens: 0,
    completionTokens: countTokens(content),
    keepIdempotencyKey: true,
    error: status === 'failed' ? unavailable('The server stopped before the end of this answer.') : null,
  })
}

/** How many stale messages one call of `failStaleMessages` finishes at most. */
export const staleBatchSize = 100

/**
 * Finishes messages whose process died as `failed`: all of them, or only the message with the given id.
 * @returns how many messages it finished.
 */
export async function failStaleMessages(
  tx: Transaction,
  services: FinishServices,
  id: string | null = null,
): Promise<number> {
  const rows = await sql.listStaleMessages(tx, {
    id,
    heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
    limit: staleBatchSize,
  })
  for (const { id } of rows) await finishWithStoredContent(tx, services, { id, status: 'failed' })
  return rows.length
}

/** The error of a failed answer; null for any other message. */
export function errorOfMessage(message: OwnedMessage): ApiError | null {
  if (message.status !== 'failed') return null
  const { code, message: text } = message.error ?? { code: 'UNAVAILABLE', message: 'The answer failed.' }
  // Rows of earlier versions have RATE_LIMITED for a provider that was busy.
  if (code === 'RATE_LIMITED') return unavailable(text)
  return new ApiError(code === 'INVALID_REQUEST' ? 400 : 503, code as ApiError['code'], text)
}
