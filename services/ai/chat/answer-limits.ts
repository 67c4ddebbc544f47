// What must hold before a new answer starts: the limits of the API key, and the Idempotency-Key. Requests of
// one user run one after the other here, so the limits are exact and a repeated request always finds the
// first one.
import type { Config } from '../../../infra/config/config.ts'
import type { Db } from '../../../infra/database/database.ts'
import { statement } from '../../../infra/database/statements.ts'
import { ApiError, conflict, idempotencyMismatch, tooManyOpen } from '../../../infra/errors.ts'
import type { IdempotencyFingerprint, OperationInfo } from '../../../infra/contract/operation.ts'
import type { Principal } from '../../users/authentication.ts'
import { failStaleMessages, isAliveSql, isStaleSql, type FinishServices } from './finish-answer.ts'
import { openMessage, type OwnedMessage } from './messages.ts'

export interface LimitServices extends FinishServices {
  config: Readonly<Config>
}

export interface AnswerRequest {
  id: string
  operation: OperationInfo
  principal: Principal
  idempotency: IdempotencyFingerprint | null
}

const lockUser = statement("SELECT pg_advisory_xact_lock(hashtextextended('ai ' || $1, 0))")

interface UserState {
  /** Answers of the API key in progress. */
  open: number
  /** Tokens that the API key has used today, and the seconds until the day (UTC) ends. */
  tokens: number
  seconds_left: number
  /** The earlier request with this Idempotency-Key: its body, and the answer. All null if there is none. */
  body_hash: Buffer | null
  answer_id: string | null
  status: string | null
  is_stale: boolean | null
}

// If the answer of a key was replaced or deleted, the key is stored with the question (see
// deleteMessagesAfter). The answer is then the message after the question.
const readState = statement<UserState>(`
  SELECT (
      SELECT count(*) FROM ai_messages WHERE api_key_id = $2 AND status = 'in_progress' AND ${isAliveSql()}
    )::int AS open,
    coalesce((
      SELECT prompt_tokens + completion_tokens FROM ai_usage
      WHERE api_key_id = $2 AND day = (now() AT TIME ZONE 'UTC')::date), 0) AS tokens,
    ceil(extract(epoch FROM
      date_trunc('day', now() AT TIME ZONE 'UTC') + interval '1 day' - (now() AT TIME ZONE 'UTC')))::int
      AS seconds_left,
    m.body_hash, a.id AS answer_id, a.status::text, ${isStaleSql('a.heartbeat_at')} AS is_stale
  FROM (SELECT 1) AS one
    LEFT JOIN ai_messages m
      ON m.user_id = $1 AND m.key_digest = $3 AND m.created_at > now() - interval '24 hours'
    LEFT JOIN LATERAL (SELECT CASE m.role WHEN 'user' THEN (
      SELECT n.id FROM ai_messages n
      WHERE n.session_id = m.session_id AND n.position > m.position AND n.role = 'assistant'
      ORDER BY n.position LIMIT 1
    ) ELSE m.id END AS id) AS answering ON true
    LEFT JOIN ai_messages a ON a.id = answering.id`)
const releaseExpiredKey = statement(`
  UPDATE ai_messages SET key_digest = NULL
  WHERE user_id = $1 AND key_digest = $2 AND created_at <= now() - interval '24 hours'`)

/**
 * Serializes the requests of the user until the end of the transaction.
 *
 * @returns the answer to an earlier request with the same Idempotency-Key, or null if there is none. Throws
 * 403 or 404 if the caller may not read that answer, 409 if it is in progress or was deleted, 422 if the
 * bodies differ, and 429 over a limit.
 */
export async function checkLimitsAndIdempotency(
  tx: Db,
  { config, ...finishServices }: LimitServices,
  request: AnswerRequest,
): Promise<OwnedMessage | null> {
  const { principal, idempotency } = request
  await tx.sql(lockUser, [principal.userId])
  const values = [principal.userId, principal.keyId, idempotency?.digest ?? null]
  let [state] = await tx.sql(readState, values)
  if (state.is_stale === true) {
    await failStaleMessages(tx, finishServices, state.answer_id)
    state = (await tx.sql(readState, values))[0]
  }
  if (state.body_hash !== null) return await replayedAnswer(tx, request, state)
  if (idempotency !== null) await tx.sql(releaseExpiredKey, [principal.userId, idempotency.digest])
  requireWithinLimits(config, state)
  return null
}

async function replayedAnswer(
  tx: Db,
  request: AnswerRequest,
  { body_hash: bodyHash, answer_id: id, status }: UserState,
): Promise<OwnedMessage> {
  if (!bodyHash!.equals(request.idempotency!.bodyHash)) throw idempotencyMismatch()
  if (id === null)
    throw conflict(
      'removed',
      'The answer to the request with this Idempotency-Key was deleted.',
      'Idempotency-Key',
    )
  const message = await openMessage(tx, { ...request, params: { id } })
  // A repeated streaming request follows the answer in progress instead.
  if (status === 'in_progress' && request.operation.id !== 'streamChat')
    throw conflict('in_progress', 'A request with this Idempotency-Key is still running.', 'Idempotency-Key')
  return message
}

function requireWithinLimits(
  config: Readonly<Config>,
  { open, tokens, seconds_left: seconds }: UserState,
): void {
  if (open >= config.aiStreamsPerKey) throw tooManyOpen('answers', config.aiStreamsPerKey)
  if (config.aiTokensPerDay > 0 && tokens >= config.aiTokensPerDay)
    throw new ApiError(
      429,
      'RATE_LIMITED',
      `This API key has used its ${config.aiTokensPerDay} tokens of today (UTC).`,
      { constraint: 'tokens_per_day' },
      { 'retry-after': String(seconds) },
    )
}
