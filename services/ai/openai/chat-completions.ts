// Chats in the shapes of OpenAI's API: a request becomes a conversation for start-answer.ts, and the answer
// becomes a completion, or its chunks.
import type { components } from '../../../generated/types.ts'
import type { StreamEvents } from '../../../generated/operations.ts'
import { builtinModel } from '../../../infra/config/ai-providers.ts'
import type { SentEvent } from '../../../infra/contract/operation.ts'
import { invalidField, withOpenAiFields } from '../../../infra/errors.ts'
import { readContent, requireUserParts } from '../chat/message-content.ts'
import type { PartsReader } from '../chat/message-parts.ts'
import type { AskedConversation } from '../chat/start-answer.ts'
import type { AnswerEvent } from '../chat/stream-events.ts'
import { citationsOf } from './citations.ts'
import type { ChatMessage, ModelOptions } from '../providers/providers.ts'

type Schemas = components['schemas']
export type CompletionRequest = Schemas['ChatCompletionRequest']
type RequestMessage = Schemas['ChatCompletionRequestMessage']
type Answer = Schemas['ChatResponse']
type ChunkEvent = SentEvent<StreamEvents['createChatCompletion']>

/** Fields that the provider gets as they are. */
const passedOn = [
  'top_p',
  'presence_penalty',
  'frequency_penalty',
  'seed',
  'reasoning_effort',
  'response_format',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
] as const satisfies Array<keyof CompletionRequest>

/** The fields that change what an answer is, so that `extractive-1` cannot ignore them. */
const onlyLanguageModels = ['response_format', 'tools', 'tool_choice'] as const

/**
 * The conversation and the options of a request, whose files the reader has opened. Throws 400 for messages
 * that do not follow each other.
 */
export async function conversationOf(
  body: CompletionRequest,
  reader: PartsReader,
): Promise<AskedConversation> {
  const { model, stop, temperature } = body
  if (model === builtinModel) requirePlain(body)
  const messages: ChatMessage[] = []
  for (const [i, message] of body.messages.entries()) messages.push(await messageOf(message, i, reader))
  const { role } = messages.at(-1)!
  if (role !== 'user' && role !== 'tool')
    throw invalidField('messages', 'role', 'The last message must have the role `user` or `tool`.')
  return {
    messages,
    body: {
      model,
      project_id: body.project_id,
      knowledge_base_ids: body.knowledge_base_ids,
      filters: body.filters,
      temperature: temperature ?? undefined,
      max_tokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
      stop: typeof stop === 'string' ? [stop] : (stop ?? undefined),
    },
    fields: Object.fromEntries(
      passedOn.flatMap((name) => (body[name] == null ? [] : [[name, body[name]]])),
    ) as ModelOptions['fields'],
  }
}

function requirePlain(body: CompletionRequest): void {
  for (const field of onlyLanguageModels) {
    const value = body[field]
    const isPlain =
      field === 'tools' ? body.tools?.length === 0 : (value as { type?: string })?.type === 'text'
    if (value != null && value !== 'none' && value !== 'auto' && !isPlain)
      throw invalidField(field, 'unsupported', `${builtinModel} does not support \`${field}\`.`)
  }
}

async function messageOf(message: RequestMessage, i: number, reader: PartsReader): Promise<ChatMessage> {
  const { role, content, refusal, tool_calls: calls, tool_call_id: callId } = message
  const field = `messages[${i}]`
  if ((role === 'tool') !== (callId !== undefined))
    throw invalidField(
      `${field}.tool_call_id`,
      role === 'tool' ? 'required' : 'role',
      'A message has a tool_call_id if and only if its role is `tool`.',
    )
  if (calls != null && role !== 'assistant')
    throw invalidField(`${field}.tool_calls`, 'role', 'Only a message of the `assistant` has tool_calls.')
  requireUserParts(role, content, `${field}.content`)
  if (role === 'user' && Array.isArray(content)) {
    const parts = content.map(({ refusal = '', ...part }) =>
      part.type === 'refusal' ? { type: 'text' as const, text: refusal } : { ...part, type: part.type },
    )
    return { role, ...(await readContent(parts, `${field}.content`, reader)) }
  }
  const text =
    typeof content === 'string'
      ? content
      : (content ?? []).map((part) => part.text ?? part.refusal ?? '').join('\n') || (refusal ?? '')
  if (!/\S/.test(text) && calls == null && role !== 'assistant' && role !== 'tool')
    throw invalidField(`${field}.content`, 'required', `${field}.content is required.`)
  if (role === 'tool') return { role, content: text, toolCallId: callId }
  if (role === 'developer') return { role: 'system', content: text }
  return calls == null ? { role, content: text } : { role, content: text, toolCalls: calls.map(toolCallOf) }
}

function toolCallOf({ id, function: { name, arguments: args } }: Schemas['ChatCompletionRequestToolCall']) {
  return { id, name, arguments: args }
}

/** The completion of an answer. `origin`: where this server is. */
export function completionOf(answer: Answer, origin: string): Schemas['ChatCompletion'] {
  const { content, refusal = null, tool_calls: calls } = answer.message
  return {
    ...headOf(answer),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: content === '' && (calls || refusal !== null) ? null : content,
          refusal,
          annotations: annotationsOf(answer, origin),
          ...(calls && { tool_calls: calls.map(shownCall) }),
        },
        logprobs: null,
        finish_reason: finishReasonOf(answer),
      },
    ],
    usage: answer.usage,
  }
}

interface ChunksOptions {
  origin: string
  /** Whether the last chunk has the usage. */
  includesUsage: boolean
}

type Chunk = Schemas['ChatCompletionChunk']

/** The chunks of an answer, from its events. */
export async function* chunksOf(
  events: AsyncIterable<AnswerEvent>,
  { includesUsage, origin }: ChunksOptions,
): AsyncGenerator<ChunkEvent> {
  let head: ReturnType<typeof headOf> | null = null
  const chunk = (choices: Chunk['choices'], usage: Chunk['usage'] = null): ChunkEvent => ({
    event: 'message',
    data: { ...head!, object: 'chat.completion.chunk', choices, ...(includesUsage && { usage }) },
  })
  const piece = (
    delta: Chunk['choices'][number]['delta'],
    finish_reason: Schemas['ChatFinishReason'] | null = null,
  ): ChunkEvent => chunk([{ index: 0, delta, logprobs: null, finish_reason }])
  const begun = new Set<number>()
  for await (const { event, data } of events as AsyncIterable<any>) {
    if (event === 'message.created') {
      head = headOf(data)
      yield piece({ role: 'assistant', content: '' })
    } else if (event === 'message.delta') {
      yield piece({ content: data.delta })
    } else if (event === 'tool_call.delta') {
      const { index, arguments: args } = data
      const first = begun.has(index) ? { function: { arguments: args } } : shownCall(data)
      begun.add(index)
      yield piece({ tool_calls: [{ index, ...first }] })
    } else if (event === 'message.completed') {
      const { refusal, tool_calls: calls } = (data as Answer).message
      // A repeated answer has no pieces of calls.
      const missing = (calls ?? []).map((call, index) => ({ index, ...shownCall(call) }))
      if (missing.length > begun.size) yield piece({ tool_calls: missing.slice(begun.size) })
      if (refusal != null) yield piece({ refusal })
      const annotations = annotationsOf(data, origin)
      yield piece(annotations.length === 0 ? {} : { annotations }, finishReasonOf(data))
      if (includesUsage) yield chunk([], data.usage)
    } else if (event === 'error') {
      yield { event, data: withOpenAiFields(data) }
    }
  }
}

function headOf({ id, model, created_at: at }: Pick<Answer, 'id' | 'created_at'> & { model: string | null }) {
  return { id, created: Math.floor(Date.parse(at) / 1000), model: model! }
}

function finishReasonOf({ finish_reason: reason }: Answer): Schemas['ChatFinishReason'] {
  return (reason ?? 'stop') as Schemas['ChatFinishReason']
}

function shownCall({ id, name, arguments: args }: Omit<Schemas['ToolCall'], 'result'>) {
  return { id, type: 'function' as const, function: { name, arguments: args } }
}

function annotationsOf(answer: Answer, origin: string): Schemas['ChatAnnotation'][] {
  return citationsOf(answer, origin).map((citation) => ({ type: 'url_citation', url_citation: citation }))
}
