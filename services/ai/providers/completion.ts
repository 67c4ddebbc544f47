// One answer of a language model. The request is always streamed, so that time-outs and a disconnect act at
// once. A failure is retried only before the first piece of the answer was passed on.
import { setTimeout as sleep } from 'node:timers/promises'
import type OpenAI from 'openai'
import type {
  ChatCompletionContentPartImage,
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
} from 'openai/resources/chat/completions'
import { invalidField } from '../../../infra/errors.ts'
import { retryDelay } from './backoff.ts'
import { EventReader } from './event-reader.ts'
import { ReceivedAnswer } from './received-answer.ts'
import type { FinishReason, TokenUsage } from './stream-chunks.ts'
import { createDeadlines, type Deadlines, type Timeouts } from './deadlines.ts'
import {
  InvalidAnswer,
  isMaxTokensTooLarge,
  isUnsupportedParameter,
  toFailure,
  unsupportedParameter,
  UpstreamFailed,
} from './errors.ts'
import type { ToolCall } from './tool-calls.ts'
import type { KnownQuirks, Quirks } from './quirks.ts'
import type { ModelSettings } from '../../../infra/config/ai-providers.ts'

/** A data URL, or a stored file, whose bytes are read before the model is asked. */
export type Image = { url: string } | { fileId: string }

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  /** Of a message of the `user`. */
  images?: Image[]
  /** The calls of an answer of the model. */
  toolCalls?: ToolCall[]
  /** The call of the result, for the role `tool`. */
  toolCallId?: string
}

export interface ModelOptions {
  temperature?: number
  maxTokens?: number
  stop?: string[]
  /** Further fields of the request, which the provider gets as they are. */
  fields?: Record<string, unknown>
}

export interface CompletionEnd {
  finishReason: FinishReason
  /** Null if the provider does not report it. */
  usage: TokenUsage | null
  /** The functions that the model calls. */
  toolCalls: ToolCall[]
}

export interface CompletionRequest extends ModelOptions {
  model: string
  messages: ChatMessage[]
  signal: AbortSignal
  requestId?: string
  /** Called with the name of each provider before it is asked. The last one gives the answer. */
  onProvider?: (name: string) => void
  /** Called with the calls so far when there are more of them, or more of their arguments. */
  onToolCalls?: (calls: ToolCall[]) => void
  /** Called with thoughts of the model, also of an attempt that fails and is repeated. */
  onThoughts?: (text: string) => void
}

export interface CompletionOptions {
  client: OpenAI
  model: ModelSettings
  /** The parameters that the provider has rejected for this model; shared by all requests. */
  quirks: KnownQuirks
  timeouts: Timeouts
  retries: number
  /** Reports a failure to the operator, at most once for each answer. */
  report(message: string): void
}

/** Milliseconds for the usage and the end of the stream after the finish reason. */
const closingTimeout = 5_000

/**
 * Calls `onText` with each piece of the text, which is not empty. An answer that exceeds its limit is cut,
 * with the finish reason `length`.
 * @throws UpstreamFailed before the first piece; else ApiError, or the reason of `signal`.
 */
export async function complete(
  request: CompletionRequest,
  onText: (text: string) => void,
  options: CompletionOptions,
): Promise<CompletionEnd> {
  const { model, timeouts, retries, report } = options
  if (
    request.maxTokens !== undefined &&
    model.maxOutputTokens !== null &&
    request.maxTokens > model.maxOutputTokens
  ) {
    const message = `\`max_tokens\` of ${model.id} must be at most ${model.maxOutputTokens}.`
    throw invalidField('max_tokens', 'maximum', message)
  }
  const deadlines = createDeadlines(request.signal, timeouts)
  let hasStarted = false
  const passOn = (text: string): void => {
    hasStarted = true
    onText(text)
  }
  const onToolCalls = (calls: ToolCall[]): void => {
    hasStarted ||= calls.length > 0
    request.onToolCalls?.(calls)
  }
  try {
    for (let failures = 0; ;) {
      try {
        return await streamAnswer({ ...request, onToolCalls }, passOn, options, deadlines)
      } catch (error) {
        if (request.signal.aborted) throw request.signal.reason
        const cause = deadlines.signal.aborted ? deadlines.signal.reason : error
        if (!hasStarted && isToRepeat(options, request, cause)) continue
        const failure = toFailure(cause)
        if (failure === null) throw cause
        const delay = hasStarted ? null : retryDelay(failure, ++failures, retries)
        if (delay === null) {
          if (failure.report !== null) report(failure.report)
          throw hasStarted ? failure.error : new UpstreamFailed(failure)
        }
        deadlines.restart()
        await pause(delay, deadlines.signal)
      }
    }
  } finally {
    deadlines.clear()
  }
}

async function streamAnswer(
  request: CompletionRequest,
  onText: (text: string) => void,
  { client, model, quirks, report }: CompletionOptions,
  deadlines: Deadlines,
): Promise<CompletionEnd> {
  deadlines.signal.throwIfAborted()
  const { signal } = deadlines
  const response = await client.chat.completions
    .create(requestBody(request, model, quirks.current()), {
      signal,
      ...(request.requestId !== undefined && { headers: { 'x-client-request-id': request.requestId } }),
    })
    .asResponse()
  const reader = new EventReader(response)
  const answer = new ReceivedAnswer(request.maxTokens ?? model.maxOutputTokens, response.headers)
  try {
    for (;;) {
      let events
      try {
        events = await reader.next()
      } catch (error) {
        // After the finish reason the answer is complete, so a failure no longer matters.
        if (answer.finishReason === null) throw error
        break
      }
      if (events === null) break
      const { delta, error } = answer.add(events)
      if (answer.hasGrown) deadlines.progress()
      if (answer.thoughts !== '') request.onThoughts?.(answer.thoughts)
      if (delta !== '') onText(delta)
      if (answer.hasCalled) request.onToolCalls?.(answer.begunCalls)
      if (error !== null) throw error
      if (answer.isCut) {
        report('its answer exceeded the length limit and was cut')
        return { finishReason: 'length', usage: null, toolCalls: [] }
      }
      if (answer.isComplete) break
      if (answer.finishReason !== null) deadlines.startClosing(closingTimeout)
    }
  } finally {
    reader.close()
  }
  if (request.signal.aborted) throw request.signal.reason
  const { finishReason, usage } = answer
  if (finishReason === null) throw new InvalidAnswer('its answer has no end', true)
  const end = answer.end()
  if (end !== '') onText(end)
  return { finishReason, usage, toolCalls: answer.toolCalls }
}

function requestBody(
  { messages, temperature, maxTokens, stop, fields }: CompletionRequest,
  { upstreamId: model }: ModelSettings,
  quirks: Quirks,
): ChatCompletionCreateParamsStreaming {
  return {
    ...fields,
    model,
    messages: messages.map(sentMessage),
    stream: true,
    ...(quirks.acceptsUsage && { stream_options: { include_usage: true } }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { [quirks.limitField]: maxTokens }),
    ...(stop !== undefined && { stop }),
  }
}

function sentMessage({
  role,
  content,
  images,
  toolCalls,
  toolCallId,
}: ChatMessage): ChatCompletionMessageParam {
  if (images !== undefined && role === 'user')
    return { role, content: [{ type: 'text', text: content }, ...images.flatMap(sentImage)] }
  if (role === 'tool') return { role, content, tool_call_id: toolCallId! }
  if (role !== 'assistant' || toolCalls === undefined) return { role, content }
  return {
    role,
    content: content === '' ? null : content,
    tool_calls: toolCalls.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })),
  }
}

function sentImage(image: Image): ChatCompletionContentPartImage[] {
  return 'url' in image ? [{ type: 'image_url', image_url: { url: image.url } }] : []
}

/**
 * Whether to send the request again in another form.
 * @throws ApiError if the provider rejected a parameter that the caller chose.
 */
function isToRepeat(
  { model, quirks }: CompletionOptions,
  request: CompletionRequest,
  error: unknown,
): boolean {
  if (isMaxTokensTooLarge(error)) return false
  if (quirks.learn(error, requestBody(request, model, quirks.current()))) return true
  const chosen = { temperature: request.temperature, stop: request.stop, ...request.fields }
  for (const [field, value] of Object.entries(chosen))
    if (value !== undefined && isUnsupportedParameter(error, field)) throw unsupportedParameter(field)
  return false
}

/** Returns early when the signal is aborted; the next attempt then throws the reason. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch((error) => {
    if (!signal.aborted) throw error
  })
}
