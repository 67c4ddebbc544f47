// Chats in the shapes of OpenAI's API: a request becomes a conversation for start-answer.ts, and the answer
// becomes a completion, or its chunks.
import type { components } from '../../../generated/types.ts'
import type { StreamEvents } from '../../../generated/operations.ts'
import { builtinModel } from '../../../infra/config/ai-providers.ts'
import type { SentEvent } from '../../../infra/contract/operation.ts'
import { invalidField } from '../../../infra/errors.ts'
import type { AskedConversation } from '../chat/start-answer.ts'
import type { AnswerEvent } from '../chat/stream-events.ts'
import type { ChatMessage, ModelOptions } from '../providers/providers.ts'
import type { ToolCall } from '../providers/tool-calls.ts'

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

/** The conversation and the options of a request. Throws 400 for messages that do not follow each other. */
export function conversationOf(body: CompletionRequest): AskedConversation {
  const { model, stop, temperature } = body
  if (model === builtinModel) requirePlain(body)
  const messages = body.messages.map(messageOf)
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

function messageOf(message: RequestMessage, i: number): ChatMessage {
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

/** The completion of an answer, with the calls of the model. `origin`: where this server is. */
export function completionOf(answer: Answer, calls: ToolCall[], origin: string): Schemas['ChatCompletion'] {
  const { content } = answer.message
  const hasCalls = calls.length > 0
  return {
    ...headOf(answer),
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: content === '' && hasCalls ? null : content,
          refusal: null,
          annotations: annotationsOf(answer, origin),
          ...(hasCalls && { tool_calls: calls.map(shownCall) }),
        },
        logprobs: null,
        finish_reason: finishReasonOf(answer, calls),
      },
    ],
    usage: answer.usage,
  }
}

interface ChunksOptions {
  origin: string
  /** Whether the last chunk has the usage. */
  includesUsage: boolean
  /** The calls of the model, when the answer is complete. */
  calls(): ToolCall[]
}

type Chunk = Schemas['ChatCompletionChunk']

/** The chunks of an answer, from its events. */
export async function* chunksOf(
  events: AsyncIterable<AnswerEvent>,
  { includesUsage, calls, origin }: ChunksOptions,
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
  for await (const { event, data } of events as AsyncIterable<any>) {
    if (event === 'message.created') {
      head = headOf(data)
      yield piece({ role: 'assistant', content: '' })
    } else if (event === 'message.delta') {
      yield piece({ content: data.delta })
    } else if (event === 'message.completed') {
      const made = calls()
      if (made.length > 0)
        yield piece({ tool_calls: made.map((call, index) => ({ index, ...shownCall(call) })) })
      const annotations = annotationsOf(data, origin)
      yield piece(annotations.length === 0 ? {} : { annotations }, finishReasonOf(data, made))
      if (includesUsage) yield chunk([], data.usage)
    } else if (event === 'error') {
      yield { event, data }
    }
  }
}

function headOf({ id, model, created_at: at }: Pick<Answer, 'id' | 'created_at'> & { model: string | null }) {
  return { id, created: Math.floor(Date.parse(at) / 1000), model: model! }
}

function finishReasonOf({ finish_reason: reason }: Answer, calls: ToolCall[]): Schemas['ChatFinishReason'] {
  return calls.length > 0 ? 'tool_calls' : ((reason ?? 'stop') as Schemas['ChatFinishReason'])
}

function shownCall({ id, name, arguments: args }: ToolCall) {
  return { id, type: 'function' as const, function: { name, arguments: args } }
}

function annotationsOf({ message }: Answer, origin: string): Schemas['ChatAnnotation'][] {
  return message.citations.map(({ document_id, name, quote }) => ({
    type: 'url_citation',
    url_citation: {
      url: `${origin}/v1/ai/documents/${document_id}`,
      title: name,
      start_index: 0,
      end_index: message.content.length,
      document_id,
      quote,
    },
  }))
}
