// Chat, plain and streamed, the models, and what a key has used of them.
import type { Handlers } from '../services/handler.ts'
import { pageOf } from '../infra/database/pagination.ts'
import { responseOf } from '../services/ai/chat/messages.ts'
import { beginChat } from '../services/ai/chat/start-answer.ts'
import { usageToday } from '../services/ai/chat/usage.ts'

export const ai = {
  async listModels({ query }, { upstreams }) {
    const sorted = upstreams.models.toSorted((a, b) => (a.id < b.id === (query.order === 'asc') ? -1 : 1))
    const start = (query.page - 1) * query.limit
    return { status: 200, body: pageOf(sorted.slice(start, start + query.limit), sorted.length, query) }
  },

  async getAiUsage({ principal }, { db, config }) {
    const usage = await usageToday(db, principal.keyId)
    return {
      status: 200,
      body: {
        ...usage,
        total_tokens: usage.prompt_tokens + usage.completion_tokens,
        limit_tokens: config.aiTokensPerDay,
      },
    }
  },

  async createChat(request, { db, config, events, upstreams, writings }) {
    const { principal, signal } = request
    const { message, task } = await beginChat({ db, config, events, upstreams }, request, request.body)
    if (task === null)
      return { status: 200, body: responseOf(message), headers: { 'idempotent-replayed': 'true' } }
    writings.start(task, signal)
    return { status: 200, body: responseOf(await writings.finished(message.id, principal)) }
  },

  async streamChat(request, { db, config, events, upstreams, writings }) {
    const { signal } = request
    const { message, task } = await beginChat({ db, config, events, upstreams }, request, request.body)
    const follow = writings.follow(request, message, 0)
    if (task === null) return { status: 200, body: follow, headers: { 'idempotent-replayed': 'true' } }
    writings.start(task, signal)
    // What fails before anything is written is said with a status.
    await writings.begun(message.id, config.streamPing * 1000)
    return { status: 200, body: follow }
  },
} satisfies Handlers<'ai'>
