// Chats, plain and streamed; the models; and the token usage of a user.
import type { Handlers } from '../services/handler.ts'
import { pageOfArray } from '../infra/database/list.ts'
import { toChatResponse } from '../services/ai/chat/messages.ts'
import { startChat } from '../services/ai/chat/start-answer.ts'
import { usageToday } from '../services/ai/chat/usage.ts'

export const ai = {
  async listModels({ query }, { providers }) {
    const sorted = providers.models.toSorted((a, b) => (a.id < b.id === (query.order === 'asc') ? -1 : 1))
    return { status: 200, body: pageOfArray('models', sorted, query) }
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

  async createChat(request, { db, config, events, providers, generations }) {
    const { principal } = request
    const signal = request.signal()
    const { message, task } = await startChat({ db, config, events, providers }, request, request.body)
    if (task === null) return { status: 200, body: toChatResponse(message), replayed: true }
    generations.start(task, signal)
    return { status: 200, body: toChatResponse(await generations.finished(message.id, principal)) }
  },

  async streamChat(request, { db, config, events, providers, generations }) {
    const signal = request.signal()
    const { message, task } = await startChat({ db, config, events, providers }, request, request.body)
    const follow = generations.follow(request, message, 0)
    if (task === null) return { status: 200, body: follow, replayed: true }
    generations.start(task, signal)
    // A failure before the first token is answered with its status instead of a stream.
    await generations.firstToken(message.id, config.streamPing * 1000)
    return { status: 200, body: follow }
  },
} satisfies Handlers<'ai'>
