// The messages of chats: read, edit, stream, cancel, regenerate and continue.
import type { Handlers } from '../services/handler.ts'
import { editMessage, readChanges } from '../services/ai/chat/edit-message.ts'
import { openMessage, toChatResponse, toMessage } from '../services/ai/chat/messages.ts'
import { continueWithResults, regenerate } from '../services/ai/chat/start-answer.ts'
import { conflict, invalidState } from '../infra/errors.ts'

export const aiMessages = {
  async getMessage(request, { db }) {
    return { status: 200, body: toMessage(await openMessage(db, request)) }
  },

  async updateMessage(request, { db, events, storage }) {
    const changes = await readChanges({ db, storage }, request)
    return await db.transaction(async (tx) => ({
      status: 200,
      body: await editMessage(tx, { events }, request, changes),
    }))
  },

  async cancelMessage(request, { db, generations }) {
    const message = await openMessage(db, request)
    // The keys of cancellations are not stored, so a request with any key counts as a repetition.
    if (message.status === 'canceled')
      return { status: 200, body: toMessage(message), replayed: request.idempotency !== null }
    if (message.status !== 'in_progress') throw invalidState('message', message.status)
    await generations.cancel(db, message.id)
    const current = await openMessage(db, request)
    // The answer may have ended before it was canceled.
    if (current.status !== 'canceled') throw invalidState('message', current.status)
    return { status: 200, body: toMessage(current) }
  },

  async regenerateMessage(request, { db, config, events, providers, generations }) {
    const signal = request.signal()
    const started = await regenerate({ db, config, events, providers }, request, request.body)
    const { message, replayed } = await generations.complete(started, request.principal, signal)
    return { status: 200, body: toChatResponse(message), replayed }
  },

  async sendToolResults(request, { db, config, events, providers, generations }) {
    const signal = request.signal()
    const services = { db, config, events, providers }
    const started = await continueWithResults(services, request, request.body)
    const { message, replayed } = await generations.complete(started, request.principal, signal)
    return { status: 200, body: toChatResponse(message), replayed }
  },

  async streamMessage(request, { db, generations }) {
    const message = await openMessage(db, request)
    if (message.role !== 'assistant')
      throw conflict('role', 'Only messages with the role `assistant` can be streamed.')
    const after = request.headers['last-event-id'] ?? 0
    return { status: 200, body: generations.follow(request, message, after) }
  },
} satisfies Handlers<'ai-messages'>
