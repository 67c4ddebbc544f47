// What OpenAI's clients call: models and chats.
import { notFound } from '../infra/errors.ts'
import type { Handlers } from '../services/handler.ts'
import { startConversation } from '../services/ai/chat/start-answer.ts'
import { toChatResponse } from '../services/ai/chat/messages.ts'
import { chunksOf, completionOf, conversationOf } from '../services/ai/openai/chat-completions.ts'
import { openAiModels } from '../services/ai/openai/models.ts'

export const openai = {
  async listOpenAiModels(_request, { providers }) {
    return { status: 200, body: { object: 'list', data: openAiModels(providers) } }
  },

  async getOpenAiModel({ params }, { providers }) {
    const model = openAiModels(providers).find(({ id }) => id === params.model)
    if (model === undefined) throw notFound('model', params.model)
    return { status: 200, body: model }
  },

  async createChatCompletion(request, { db, config, events, providers, generations, publicUrl }) {
    const { body, principal } = request
    const signal = request.signal()
    const asked = conversationOf(body)
    const started = await startConversation({ db, config, events, providers }, request, asked)
    const origin = publicUrl()
    if (body.stream !== true) {
      const { message, toolCalls, replayed } = await generations.complete(started, principal, signal)
      return { status: 200, body: completionOf(toChatResponse(message), toolCalls, origin), replayed }
    }
    // As in `streamChat`.
    const waitMs = config.streamPing * 1000
    const { events: answerEvents, answer } = await generations.stream(started, request, signal, waitMs)
    const options = {
      origin,
      includesUsage: body.stream_options?.include_usage === true,
      calls: () => answer?.toolCalls ?? [],
    }
    return {
      status: 200,
      body: (disconnected) => chunksOf(answerEvents(disconnected), options),
      replayed: answer === null,
    }
  },
} satisfies Handlers<'openai'>
