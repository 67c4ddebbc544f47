// The end of an answer: kept, counted and told of once, by whoever writes it, or by others where nobody does any more.
import type { components } from '../../../generated/types.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { ApiError, unavailable } from '../../../infra/errors.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Principal } from '../../users/authentication.ts'
import { messageById, type OwnedMessage, type StoredCitation } from './messages.ts'
import type { Draft } from './stream-events.ts'
import { countTokens } from './token-estimate.ts'
import type { Upstreams } from '../providers/providers.ts'
import { addUsage, costOf } from './usage.ts'

/** Seconds after which a message that nobody says to be writing is given up. */
export const patience = 30

export interface EndingServices {
  events: Emitter
  upstreams: Pick<Upstreams, 'priceOf'>
}

export interface Outcome {
  status: components['schemas']['MessageStatus']
  finishReason: components['schemas']['FinishReason']
  promptTokens: number
  completionTokens: number
  error: ApiError | null
}

/** How an answer ended. */
export interface Conclusion extends Outcome, Draft {
  id: string
  model: string
  principal: Pick<Principal, 'userId' | 'projectIds'> & { keyId: string | null }
  /** Whether a repetition of the request gets this; what failed is never remembered. */
  remember: boolean
}

const close = statement<{ session_id: string | null }>(`
  UPDATE ai_messages SET status = $2::"MessageStatus", finish_reason = $3, prompt_tokens = $4, completion_tokens = $5, content = $6, citations = $7::jsonb, error = $8::jsonb,
    beat_at = NULL, key_digest = CASE WHEN $9 THEN key_digest END
  WHERE id = $1 AND status = 'in_progress' RETURNING session_id`)
const count = statement(`
  UPDATE ai_sessions SET prompt_tokens = prompt_tokens + $2, completion_tokens = completion_tokens + $3, last_message_at = now(), updated_at = now() WHERE id = $1`)

/** @returns the message, or null where it is gone or was ended by somebody else. */
export async function conclude(
  tx: Db,
  { events, upstreams }: EndingServices,
  { id, model, principal, content, citations, remember, ...outcome }: Conclusion,
): Promise<OwnedMessage | null> {
  const { status, finishReason, promptTokens, completionTokens, error } = outcome
  const failure = error === null ? null : JSON.stringify({ code: error.code, message: error.message })
  const [row] = await tx.sql(close, [
    id,
    status,
    finishReason,
    promptTokens,
    completionTokens,
    content,
    JSON.stringify(citations),
    failure,
    remember && status !== 'failed',
  ])
  if (row === undefined) return null
  if (row.session_id !== null) await tx.sql(count, [row.session_id, promptTokens, completionTokens])
  if (principal.keyId !== null)
    await addUsage(tx, principal.keyId, {
      promptTokens,
      completionTokens,
      costMicros: costOf(outcome, upstreams.priceOf(model)),
    })
  const message = (await messageById(tx, id, principal))!
  const type =
    status === 'failed' ? 'chat.failed' : status === 'cancelled' ? 'chat.cancelled' : 'chat.completed'
  await events.emit(tx, type, message, { userId: message.owner_id })
  return message
}

const unwritten = statement<{
  user_id: string
  api_key_id: string | null
  model: string
  prompt_tokens: number
  content: string
  citations: StoredCitation[]
}>(`
  SELECT user_id, api_key_id, model, prompt_tokens, content, citations FROM ai_messages WHERE id = $1 AND status = 'in_progress' FOR NO KEY UPDATE`)

/** Ends a message with what is kept of it. Whoever still writes it finds it ended. */
export async function endUnwritten(
  tx: Db,
  services: EndingServices,
  { id, status }: { id: string; status: 'failed' | 'cancelled' },
): Promise<void> {
  const [row] = await tx.sql(unwritten, [id])
  if (row === undefined) return
  const { user_id: userId, api_key_id: keyId, model, prompt_tokens: promptTokens, content, citations } = row
  await conclude(tx, services, {
    id,
    model,
    principal: { userId, projectIds: null, keyId },
    content,
    citations,
    status,
    finishReason: null,
    promptTokens,
    completionTokens: countTokens(content),
    remember: true,
    error: status === 'failed' ? unavailable('The server stopped in the middle of this answer.') : null,
  })
}

const silent = statement<{ id: string }>(`
  SELECT id FROM ai_messages WHERE status = 'in_progress' AND beat_at < now() - interval '${patience} seconds' AND ($1::text IS NULL OR id = $1) LIMIT 100`)

/** Ends as failed what nobody writes any more, because its process died: all of them, or the one of that id. @returns how many. */
export async function endSilent(tx: Db, services: EndingServices, id: string | null = null): Promise<number> {
  const rows = await tx.sql(silent, [id])
  for (const { id } of rows) await endUnwritten(tx, services, { id, status: 'failed' })
  return rows.length
}

/** What an answer failed with; null where it did not. */
export function failureOf(message: OwnedMessage): ApiError | null {
  if (message.status !== 'failed') return null
  const { code, message: text } = message.error ?? { code: 'UNAVAILABLE', message: 'The answer failed.' }
  return new ApiError(
    code === 'RATE_LIMITED' ? 429 : code === 'INVALID_REQUEST' ? 400 : 503,
    code as ApiError['code'],
    text,
  )
}
