// Chats, plain and streamed; the models; and the token usage of a user.
import type { Handlers } from '../services/handler.ts'
import { pageOfArray } from '../infra/database/list.ts'
import { toChatResponse } from '../services/ai/chat/messages.ts'
import { startChat } from '../services/ai/chat/start-answer.ts'
import { usageToday } from '../services/ai/chat/usage.ts'

export const ai = {
  async listModels({ query }, { providers }) {
    const ascending = providers.models.toSorted((a, b) => (a.id < b.id ? -1 : 1))
    const models = query.order === 'desc' ? ascending.toReversed() : ascending
    return { status: 200, body: pageOfArray('models', models, query) }
  },

  async getAiUsage({ principal }, { db, config }) {
    const usage = await usageToday(db, principal.userId)
    return {
      status: 200,
      body: {
        ...usage,
        total_tokens: usage.prompt_tokens + usage.completion_tokens,
        limit_tokens: config.aiTokensPerDay || null,
        currency: config.aiCurrency,
      },
    }
  },

  async createChat(request, { db, config, events, providers, storage, generations }) {
    const signal = request.signal()
    const started = await startChat({ db, config, events, providers, storage }, request, request.body)
    const { message, replayed } = await generations.complete(started, request.principal, signal)
    return { status: 200, body: toChatResponse(message), replayed }
  },

  async streamChat(request, { db, config, events, providers, storage, generations }) {
    const signal = request.signal()
    const started = await startChat({ db, config, events, providers, storage }, request, request.body)
    // Waits for the first token, at most one ping interval. If the answer fails by then, the response is that
    // error instead of a stream.
    const waitMs = config.streamPing * 1000
    const { events: body, replayed } = await generations.stream(started, request, signal, waitMs)
    return { status: 200, body, replayed }
  },
} satisfies Handlers<'ai'>
