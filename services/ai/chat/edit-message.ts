// Edits a message. A new content deletes the messages after it, because they answer the old content.
import type { components } from '../../../generated/types.ts'
import * as sql from '../../../generated/sql/chat.ts'
import type { Transaction } from '../../../infra/database/database.ts'
import { conflict, inProgress } from '../../../infra/errors.ts'
import type { OperationInfo } from '../../../infra/contract/operation.ts'
import { changesOf } from '../../../infra/contract/changes.ts'
import type { Emitter } from '../../events/emit.ts'
import type { Principal } from '../../users/authentication.ts'
import { readStoredContent } from './message-content.ts'
import { PartsReader, type PartsServices } from './message-parts.ts'
import { findMessage, openMessage, toMessage, type Message, type OwnedMessage } from './messages.ts'
import { openSession } from './sessions.ts'

export interface EditRequest {
  operation: OperationInfo
  params: { id: string }
  principal: Principal
  body: components['schemas']['MessageUpdate']
  ifMatch(entity: unknown): void
}

/** The fields to change, before the transaction. */
export async function readChanges(
  services: PartsServices,
  request: EditRequest,
): Promise<{ metadata?: EditRequest['body']['metadata']; content?: string; image_file_ids?: string[] }> {
  const { content, ...fields } = request.body
  if (content === undefined) return fields
  if (typeof content === 'string') return { ...fields, content, image_file_ids: [] }
  await openMessage(services.db, request)
  const reader = new PartsReader(services, request)
  await reader.openFiles([content], 'content')
  const read = await readStoredContent(content, 'content', reader)
  return { ...fields, content: read.content, image_file_ids: read.imageFileIds }
}

/** In the given transaction. Throws 403, 404, 409 or 412. */
export async function editMessage(
  tx: Transaction,
  { events }: { events: Emitter },
  request: EditRequest,
  fields: Awaited<ReturnType<typeof readChanges>>,
): Promise<Message> {
  // Lock order: the session before its messages.
  const { session_id: sessionId } = await openMessage(tx, request)
  if (sessionId !== null) await openSession(tx, { ...request, params: { id: sessionId } }, { lock: true })
  const previous = await openMessage(tx, request, { lock: true })
  request.ifMatch(toMessage(previous))
  const changes = changesOf(previous, fields)
  if (changes === null) return toMessage(previous)
  const { image_file_ids: imageFileIds, ...data } = changes
  if (isOther(data.content, previous.content) || isOther(imageFileIds, previous.image_file_ids))
    await deleteAnswersTo(tx, previous)
  await tx.prisma.message.update({
    where: { id: previous.id },
    data: { ...data, imageFileIds },
    select: { id: true },
  })
  const message = (await findMessage(tx, previous.id, request.principal))!
  await events.emit(tx, 'message.updated', message, { previous, userId: message.owner_id })
  return toMessage(message)
}

function isOther(after: unknown, before: unknown): boolean {
  return after !== undefined && JSON.stringify(after) !== JSON.stringify(before)
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
