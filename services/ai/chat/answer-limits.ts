// Checks the limits of the user and the Idempotency-Key before a new answer starts. Requests of one user run
// one after the other here, so the limits are exact and a repeated request always finds the first one.
import * as sql from '../../../generated/sql/chat.ts'
import type { Config } from '../../../infra/config/config.ts'
import type { Transaction } from '../../../infra/database/database.ts'
import { heartbeatTimeoutSeconds } from '../../../infra/database/heartbeats.ts'
import { conflict, idempotencyMismatch, inProgress, tooManyOpen } from '../../../infra/errors.ts'
import type { IdempotencyFingerprint, OperationInfo } from '../../../infra/contract/operation.ts'
import type { Principal } from '../../users/authentication.ts'
import { failStaleMessages, type FinishServices } from './finish-answer.ts'
import { openMessage, type OwnedMessage } from './messages.ts'
import { TokensUsedUp } from './usage.ts'

export interface LimitServices extends FinishServices {
  config: Readonly<Config>
}

export interface AnswerRequest {
  id: string
  clientRequestId?: string
  operation: OperationInfo
  principal: Principal
  noteProject?(id: string): void
  idempotency: IdempotencyFingerprint | null
}

/**
 * Serializes the requests of the user until the end of the transaction.
 *
 * @returns the answer to an earlier request with the same Idempotency-Key, or null if there is none. Throws
 * 403 or 404 if the caller may not read that answer, 409 if it is in progress or was deleted, 422 if the
 * bodies differ, and 429 over a limit.
 */
export async function checkLimitsAndIdempotency(
  tx: Transaction,
  { config, ...finishServices }: LimitServices,
  request: AnswerRequest,
): Promise<OwnedMessage | null> {
  const { principal, idempotency } = request
  const locked = sql.lockUser(tx.later, { user_id: principal.userId })
  const readState = (): Promise<sql.ReadUserStateRow> =>
    sql.readUserState(tx, {
      user_id: principal.userId,
      key_digest: idempotency?.digest ?? null,
      heartbeat_timeout_seconds: heartbeatTimeoutSeconds,
    })
  let [state] = await Promise.all([readState(), locked])
  if (state.is_stale === true) {
    await failStaleMessages(tx, finishServices, state.answer_id)
    state = await readState()
  }
  if (state.body_hash !== null) return await replayedAnswer(tx, request, state)
  if (idempotency !== null)
    await sql.releaseIdempotencyKey(tx, { user_id: principal.userId, key_digest: idempotency.digest })
  requireWithinLimits(config, state)
  return null
}

async function replayedAnswer(
  tx: Transaction,
  request: AnswerRequest,
  { body_hash: bodyHash, answer_id: id, status }: sql.ReadUserStateRow,
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
    throw inProgress('A request with this Idempotency-Key is still running.', 'Idempotency-Key')
  return message
}

function requireWithinLimits(config: Readonly<Config>, { open, tokens }: sql.ReadUserStateRow): void {
  if (open >= config.aiStreamsPerUser) throw tooManyOpen('answers', config.aiStreamsPerUser)
  if (config.aiTokensPerDay > 0 && tokens >= config.aiTokensPerDay)
    throw new TokensUsedUp(config.aiTokensPerDay, tokens)
}
