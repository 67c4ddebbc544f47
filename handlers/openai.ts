// What OpenAI's clients call: models, embeddings, chats and responses.
import { notFound } from '../infra/errors.ts'
import type { Handlers, HandlerServices } from '../services/handler.ts'
import { embedWithinLimit } from '../services/ai/chat/embeddings.ts'
import type { AnswerRequest } from '../services/ai/chat/answer-limits.ts'
import { answerFormatOf } from '../services/ai/chat/answer-format.ts'
import { PartsReader, type Content } from '../services/ai/chat/message-parts.ts'
import { openFiles, startConversation } from '../services/ai/chat/start-answer.ts'
import { toChatResponse, type OwnedMessage } from '../services/ai/chat/messages.ts'
import type { FollowRequest } from '../services/ai/chat/stream.ts'
import type { AnswerEvent } from '../services/ai/chat/stream-events.ts'
import {
  chunksOf,
  completionOf,
  conversationOf,
  type CompletionRequest,
} from '../services/ai/openai/chat-completions.ts'
import { embeddingListOf, embeddingModelOf } from '../services/ai/openai/embeddings.ts'
import { completionRequestOf, contentsOf, withResponseNames } from '../services/ai/openai/response-request.ts'
import { responseEvents, responseOf } from '../services/ai/openai/responses.ts'
import { openAiModels } from '../services/ai/openai/models.ts'
import { requireUnrestrictedKey } from '../services/projects/resource-access.ts'

export const openai = {
  async listOpenAiModels(_request, { providers }) {
    return { status: 200, body: { object: 'list', data: openAiModels(providers) } }
  },

  async getOpenAiModel({ params }, { providers }) {
    const model = openAiModels(providers).find(({ id }) => id === params.model)
    if (model === undefined) throw notFound('model', params.model)
    return { status: 200, body: model }
  },

  async createEmbeddings(request, { db, config, providers }) {
    const { body, principal } = request
    requireUnrestrictedKey(principal)
    const embed = embeddingModelOf(providers, body)
    const account = { ...principal, projectId: null, tokensPerDay: config.aiTokensPerDay }
    let tokens = 0
    const count = (counted: number): void => {
      tokens = counted
    }
    const texts = [body.input].flat()
    const vectors = await embedWithinLimit(db, embed, account, texts, request.signal(), count)
    return { status: 200, body: embeddingListOf(body, vectors, tokens) }
  },

  async createChatCompletion(request, services) {
    const { body } = request
    const origin = services.publicUrl()
    const contents = body.messages.map(({ content }) => content)
    const asked = { contents, field: 'messages', toCompletion: () => body }
    const { message, events, replayed } = await answer(request, services, asked)
    if (events === null) return { status: 200, body: completionOf(toChatResponse(message), origin), replayed }
    const options = { origin, includesUsage: body.stream_options?.include_usage === true }
    return { status: 200, body: (left) => chunksOf(events(left), options), replayed }
  },

  async createResponse(request, services) {
    const { body } = request
    const options = { request: body, origin: services.publicUrl() }
    const toCompletion = (): CompletionRequest => completionRequestOf(body)
    const asked = { contents: contentsOf(body), field: 'input', toCompletion }
    try {
      const { message, events, replayed } = await answer(request, services, asked)
      if (events === null)
        return { status: 200, body: responseOf(toChatResponse(message), options), replayed }
      return { status: 200, body: (left) => responseEvents(events(left), options), replayed }
    } catch (error) {
      throw withResponseNames(error)
    }
  },
} satisfies Handlers<'openai'>

interface Asked {
  contents: Content[]
  /** The field of the contents. */
  field: string
  /** Called when the files are open. */
  toCompletion(): CompletionRequest
}

interface Answered {
  /** The finished message, or the empty one of a stream. */
  message: OwnedMessage
  /** Null for a whole answer. */
  events: ((disconnected: AbortSignal) => AsyncIterable<AnswerEvent>) | null
  replayed: boolean
}

/** Answers as `createChat` does, or with `stream: true` as `streamChat`. */
async function answer(
  request: AnswerRequest & FollowRequest & { body: { stream?: boolean | null }; signal(): AbortSignal },
  { db, config, events, providers, storage, generations }: HandlerServices,
  { contents, field, toCompletion }: Asked,
): Promise<Answered> {
  const { principal } = request
  const signal = request.signal()
  const streams = request.body.stream === true
  const services = { db, config, events, providers }
  const reader = new PartsReader({ db, storage }, request)
  let started = await openFiles(services, request, reader, contents, field)
  if (started === null) {
    const body = toCompletion()
    const conversation = await conversationOf(body, reader)
    const format = await answerFormatOf(body.response_format, {
      field: 'response_format',
      userId: principal.userId,
      streams,
    })
    started = await startConversation(services, request, { ...conversation, format })
  }
  if (!streams) return { ...(await generations.complete(started, principal, signal)), events: null }
  // As in `streamChat`.
  const waitMs = config.streamPing * 1000
  return { message: started.message, ...(await generations.stream(started, request, signal, waitMs)) }
}
