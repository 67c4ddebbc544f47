// Single messages: read, edited, followed, stopped and answered anew.
import type { Handlers } from '../services/handler.ts'
import { messageById, openMessage, responseOf, shownMessage } from '../services/ai/chat/messages.ts'
import { openSession } from '../services/ai/chat/sessions.ts'
import { beginAgain, removeAfter } from '../services/ai/chat/start-answer.ts'
import { conflict, invalidState } from '../infra/errors.ts'

export const aiMessages = {
  async getMessage(request, { db }) {
    return { status: 200, body: shownMessage(await openMessage(db, request)) }
  },

  async updateMessage(request, { db, events }) {
    const {
      principal,
      body: { content, metadata },
    } = request
    return await db.transaction(async (tx) => {
      // The session is locked before what is in it.
      const { session_id: sessionId } = await openMessage(tx, request)
      if (sessionId !== null) await openSession(tx, { ...request, params: { id: sessionId } }, { lock: true })
      const previous = await openMessage(tx, request, { lock: true })
      request.ifMatch(shownMessage(previous))
      if (content !== undefined) {
        if (previous.role !== 'user' || sessionId === null)
          throw conflict('role', 'Only the messages of users are edited.', 'content')
        if ((await tx.prisma.message.count({ where: { sessionId, status: 'in_progress' } })) > 0)
          throw conflict('in_progress', 'The session is being answered: wait for it, or cancel it.')
        await removeAfter(tx, sessionId, previous.id)
      }
      await tx.prisma.message.update({
        where: { id: previous.id },
        data: { content, metadata },
        select: { id: true },
      })
      const message = (await messageById(tx, previous.id, principal))!
      await events.emit(tx, 'message.updated', message, { previous, userId: message.owner_id })
      return { status: 200, body: shownMessage(message) }
    })
  },

  async cancelMessage(request, { db, writings }) {
    const message = await openMessage(db, request)
    if (message.status === 'cancelled' && request.idempotency !== null)
      return { status: 200, body: shownMessage(message), headers: { 'idempotent-replayed': 'true' } }
    if (message.status !== 'in_progress') throw invalidState('message', message.status)
    await writings.cancel(db, message.id)
    const now = await openMessage(db, request)
    if (now.status !== 'cancelled') throw invalidState('message', now.status)
    return { status: 200, body: shownMessage(now) }
  },

  async regenerateMessage(request, { db, config, events, upstreams, writings }) {
    const { principal, signal, body } = request
    const { message, task } = await beginAgain({ db, config, events, upstreams }, request, body)
    if (task === null)
      return { status: 200, body: responseOf(message), headers: { 'idempotent-replayed': 'true' } }
    writings.start(task, signal)
    return { status: 200, body: responseOf(await writings.finished(message.id, principal)) }
  },

  async streamMessage(request, { db, writings }) {
    const message = await openMessage(db, request)
    if (message.role !== 'assistant') throw conflict('role', 'Only answers are followed.')
    return { status: 200, body: writings.follow(request, message, request.headers['last-event-id'] ?? 0) }
  },
} satisfies Handlers<'ai-messages'>
