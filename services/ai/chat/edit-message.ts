// Edits a message. A new content deletes the messages after it, because they answer the old content.
import type { components } from '../../../generated/types.ts'
import * as sql from '../../../generated/sql/chat.ts'
import type { Transaction } from '../../../infra/database/database.ts'
import { conflict, inProgress } from '../../../infra/errors.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { changesOf } from '../../../infra/contract/changes.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Principal } from '../../users/authentication.ts'
import { textOf } from './message-content.ts'
import { findMessage, openMessage, toMessage, type Message, type OwnedMessage } from './messages.ts'
import { openSession } from './sessions.ts'

export interface EditRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  body: components['schemas']['MessageUpdate']
  ifMatch(entity: unknown): void
}

/** In the given transaction. Throws 403, 404, 409 or 412. */
export async function editMessage(
  tx: Transaction,
  { events }: { events: Emitter },
  request: EditRequest,
): Promise<Message> {
  // Lock order: the session before its messages.
  const { session_id: sessionId } = await openMessage(tx, request)
  if (sessionId !== null) await openSession(tx, { ...request, params: { id: sessionId } }, { lock: true })
  const previous = await openMessage(tx, request, { lock: true })
  request.ifMatch(toMessage(previous))
  const { content, ...fields } = request.body
  const text = content === undefined ? undefined : textOf(content, 'content')
  const changes = changesOf(previous, { ...fields, ...(text !== undefined && { content: text }) })
  if (changes === null) return toMessage(previous)
  if (changes.content !== undefined && changes.content !== previous.content)
    await deleteAnswersTo(tx, previous)
  await tx.prisma.message.update({ where: { id: previous.id }, data: changes, select: { id: true } })
  const message = (await findMessage(tx, previous.id, request.principal))!
  await events.emit(tx, 'message.updated', message, { previous, userId: message.owner_id })
  return toMessage(message)
}

async function deleteAnswersTo(
  tx: Transaction,
  { id, role, session_id: sessionId }: OwnedMessage,
): Promise<void> {
  if (role !== 'user' || sessionId === null)
    throw conflict('role', 'Only messages with the role `user` can be edited.', 'content')
  if ((await sql.findAnswerInProgress(tx, { session_id: sessionId })) !== undefined)
    throw inProgress('An answer of this session is in progress: wait for it, or cancel it.')
  await deleteMessagesAfter(tx, sessionId, id)
}

/**
 * Deletes the messages after the given one. The caller has locked the session. The Idempotency-Key of the
 * deleted answer moves to its question, so that a repeated request does not generate a second answer.
 */
export async function deleteMessagesAfter(
  tx: Transaction,
  sessionId: string,
  messageId: string,
): Promise<void> {
  const answer = await sql.deleteMessagesAfter(tx, { session_id: sessionId, message_id: messageId })
  if (answer?.key_digest)
    await sql.moveIdempotencyKey(tx, { ...answer, id: messageId, key_digest: answer.key_digest })
}
