// An answer in the shapes of the Responses API: whole, or as the events of a stream. A response has the text
// of the answer as one item, unless there is none, and each call of the model as another.
import type { components } from '../../../generated/types.ts'
import type { StreamEvents } from '../../../generated/operations.ts'
import type { SentEvent } from '../../../infra/contract/operation.ts'
import { withOpenAiFields } from '../../../infra/errors.ts'
import type { AnswerEvent } from '../chat/stream-events.ts'
import { citationsOf } from './citations.ts'

type Schemas = components['schemas']
type Answer = Schemas['ChatResponse']
type Request = Schemas['ResponseRequest']
type Response = Schemas['OpenAiResponse']
type Item = Schemas['ResponseOutputItem']
type Part = Schemas['ResponseOutputPart']
type Call = Schemas['ToolCallDelta']
type ResponseEvent = SentEvent<StreamEvents['createResponse']>
type EventName = ResponseEvent['event'] & string

export interface ResponseOptions {
  request: Request
  /** Where this server is, for the URLs of documents. */
  origin: string
}

/** The response of a finished answer. */
export function responseOf(answer: Answer, options: ResponseOptions): Response {
  const { status } = stateOf(answer)
  const parts = partsOf(answer, options.origin)
  const calls = answer.message.tool_calls ?? []
  const output = [
    ...(parts.length === 0 ? [] : [messageItem(answer.id, status, parts)]),
    ...calls.map((call) => callItem(call, status)),
  ]
  return finishedResponse(answer, options, output)
}

function finishedResponse(answer: Answer, { request }: ResponseOptions, output: Item[]): Response {
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens, total_tokens } = answer.usage
  return {
    ...beginning(answer, request),
    ...stateOf(answer),
    output,
    usage: {
      input_tokens,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens,
    },
  }
}

/** The events of a response, from those of the answer. */
export async function* responseEvents(
  events: AsyncIterable<AnswerEvent>,
  options: ResponseOptions,
): AsyncGenerator<ResponseEvent> {
  const stream = new ResponseStream(options)
  for await (const { event, data } of events as AsyncIterable<any>) {
    if (event === 'message.created') yield* stream.begin(data)
    else if (event === 'message.delta') yield* stream.addText(data.delta)
    else if (event === 'tool_call.delta') yield* stream.addCall(data)
    else if (event === 'message.completed') yield* stream.end(data)
    else if (event === 'error') yield { event, data: withOpenAiFields(data) }
  }
}

/** Numbers the events, and the items in the order in which they begin. */
class ResponseStream {
  readonly #options: ResponseOptions
  #sequence = 0
  #messageId = ''
  /** The items that have begun: `text`, or the index of a call. */
  readonly #items: Array<'text' | number> = []

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  *begin(message: Parameters<typeof beginning>[0]): Generator<ResponseEvent> {
    this.#messageId = message.id
    const response = beginning(message, this.#options.request)
    yield this.#event('response.created', { response })
    yield this.#event('response.in_progress', { response })
  }

  *addText(delta: string): Generator<ResponseEvent> {
    yield* this.#beginText()
    yield this.#event('response.output_text.delta', { ...this.#place(0), delta, logprobs: [] })
  }

  *addCall(call: Call): Generator<ResponseEvent> {
    const { index, id, arguments: delta } = call
    if (!this.#items.includes(index)) {
      this.#items.push(index)
      const item = callItem({ ...call, arguments: '' }, 'in_progress')
      yield this.#event('response.output_item.added', { output_index: this.#items.length - 1, item })
    }
    const output_index = this.#items.indexOf(index)
    if (delta !== '')
      yield this.#event('response.function_call_arguments.delta', { output_index, item_id: id, delta })
  }

  *end(answer: Answer): Generator<ResponseEvent> {
    const parts = partsOf(answer, this.#options.origin)
    const calls = answer.message.tool_calls ?? []
    // A repeated answer has no pieces of calls, and an answer may have no text.
    if (parts.length > 0) yield* this.#beginText()
    for (const [index, call] of calls.entries())
      if (!this.#items.includes(index)) yield* this.addCall({ ...call, index })
    const { status } = stateOf(answer)
    const output: Item[] = []
    for (const [output_index, key] of this.#items.entries()) {
      if (key === 'text') {
        for (const [content_index, part] of parts.entries()) yield* this.#endPart(part, content_index)
      } else {
        const { id: item_id, name, arguments: args } = calls[key]
        const done = { output_index, item_id, name, arguments: args }
        yield this.#event('response.function_call_arguments.done', done)
      }
      const item = key === 'text' ? messageItem(this.#messageId, status, parts) : callItem(calls[key], status)
      yield this.#event('response.output_item.done', { output_index, item })
      output.push(item)
    }
    const response = finishedResponse(answer, this.#options, output)
    yield this.#event(status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response })
  }

  *#beginText(): Generator<ResponseEvent> {
    if (this.#items.includes('text')) return
    this.#items.push('text')
    const item = messageItem(this.#messageId, 'in_progress', [])
    yield this.#event('response.output_item.added', { output_index: this.#items.length - 1, item })
    const part = { type: 'output_text', text: '', annotations: [] } satisfies Part
    yield this.#event('response.content_part.added', { ...this.#place(0), part })
  }

  /** The text is the first part, and has begun. */
  *#endPart(part: Part, content_index: number): Generator<ResponseEvent> {
    const place = this.#place(content_index)
    if (part.type === 'output_text') {
      for (const [annotation_index, annotation] of part.annotations.entries())
        yield this.#event('response.output_text.annotation.added', { ...place, annotation_index, annotation })
      yield this.#event('response.output_text.done', { ...place, text: part.text, logprobs: [] })
    } else {
      const { refusal } = part
      yield this.#event('response.content_part.added', { ...place, part: { type: 'refusal', refusal: '' } })
      yield this.#event('response.refusal.delta', { ...place, delta: refusal })
      yield this.#event('response.refusal.done', { ...place, refusal })
    }
    yield this.#event('response.content_part.done', { ...place, part })
  }

  #place(content_index: number) {
    return { output_index: this.#items.indexOf('text'), item_id: this.#messageId, content_index }
  }

  #event<Name extends EventName>(
    event: Name,
    data: Omit<Extract<ResponseEvent, { event: Name }>['data'], 'type' | 'sequence_number'>,
  ): ResponseEvent {
    return { event, data: { type: event, sequence_number: this.#sequence++, ...data } } as never
  }
}

/** The response before the answer, with what the request says. */
function beginning(
  { id, model, created_at: at }: { id: string; model: string | null; created_at: string },
  request: Request,
): Response {
  return {
    id,
    object: 'response',
    created_at: Math.floor(Date.parse(at) / 1000),
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    metadata: request.metadata ?? {},
    model: model!,
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    store: false,
    temperature: request.temperature ?? null,
    tool_choice: (request.tool_choice ?? 'auto') as Response['tool_choice'],
    tools: (request.tools ?? []).map(({ name, description, parameters, strict }) => ({
      type: 'function',
      name,
      description: description ?? null,
      parameters: parameters ?? null,
      strict: strict ?? null,
    })),
    top_p: request.top_p ?? null,
    access_programs: null,
  }
}

function stateOf({ finish_reason: reason }: Answer): {
  status: 'completed' | 'incomplete'
  incomplete_details: Response['incomplete_details']
} {
  if (reason === 'length')
    return { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
  if (reason === 'content_filter') return { status: 'incomplete', incomplete_details: { reason } }
  return { status: 'completed', incomplete_details: null }
}

/** The text, and why it does not have the format. An answer that only calls functions has none. */
function partsOf(answer: Answer, origin: string): Part[] {
  const { content: text, refusal, tool_calls: calls } = answer.message
  const annotations = citationsOf(answer, origin).map((citation) => ({
    type: 'url_citation' as const,
    ...citation,
  }))
  return [
    ...(text === '' && (calls != null || refusal != null)
      ? []
      : [{ type: 'output_text' as const, text, annotations }]),
    ...(refusal == null ? [] : [{ type: 'refusal' as const, refusal }]),
  ]
}

function messageItem(
  id: string,
  status: Schemas['ResponseOutputMessage']['status'],
  content: Part[],
): Schemas['ResponseOutputMessage'] {
  return { type: 'message', id, status, role: 'assistant', content }
}

function callItem(
  { id, name, arguments: args }: Omit<Call, 'index'>,
  status: Schemas['ResponseFunctionCall']['status'],
): Schemas['ResponseFunctionCall'] {
  return { type: 'function_call', id, call_id: id, name, arguments: args, status }
}
