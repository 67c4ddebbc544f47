// One answer of an upstream's model, always as a stream, so that time-outs and leaving act at once. What fails before
// anything of the answer was passed on is tried again where that helps; after that never.
import { setTimeout as sleep } from 'node:timers/promises'
import type OpenAI from 'openai'
import type { ChatCompletionCreateParamsStreaming } from 'openai/resources/chat/completions'
import { invalidField } from '../../../infra/errors.ts'
import { delayAfter } from './backoff.ts'
import { createTextJoiner, readChunk, type FinishReason, type TokenUsage } from './stream-chunks.ts'
import { createDeadlines, type Deadlines, type Times } from './deadlines.ts'
import { BrokenAnswer, refuses, toFailure, unsupported, wantsFewerTokens } from './errors.ts'
import type { Habits, KnownHabits } from './quirks.ts'
import type { ModelSettings } from '../../../infra/config/ai-providers.ts'

export interface Turn {
  role: 'system' | 'user' | 'assistant'
  content: string
}

export type Piece = { delta: string } | { end: { finishReason: FinishReason; usage: TokenUsage | null } }

export interface CompletionRequest {
  model: string
  turns: Turn[]
  temperature?: number
  maxTokens?: number
  stop?: string[]
  signal: AbortSignal
  requestId?: string
}

export interface CompletionOptions {
  client: OpenAI
  model: ModelSettings
  /** What this server has refused of the model's requests; remembered between them. */
  habits: KnownHabits
  times: Times
  retries: number
  /** What the operator should know, once for each answer. */
  report(what: string): void
}

/** Characters of an answer whose length nobody limits. */
const mostCharacters = 4_000_000
/** Characters that a token is taken to have at most, on the average, and what a short answer may have beyond that. */
const charactersPerToken = 32
const spareCharacters = 4096
/** Milliseconds that the usage and the end may come after an answer that is whole. */
const patience = 5_000

/**
 * Pieces of text, none empty, and last the end. `usage` is null where the server does not say. An answer that is longer than
 * the limit allows is cut off there, with `length`.
 * @throws ApiError, or the reason of `signal`.
 */
export async function* complete(
  request: CompletionRequest,
  options: CompletionOptions,
): AsyncGenerator<Piece, void, undefined> {
  const { model, habits, times, retries, report } = options
  if (
    request.maxTokens !== undefined &&
    model.maxOutputTokens !== null &&
    request.maxTokens > model.maxOutputTokens
  ) {
    throw invalidField('max_tokens', 'maximum', `${model.id} writes at most ${model.maxOutputTokens} tokens.`)
  }
  const deadlines = createDeadlines(request.signal, times)
  try {
    for (let failures = 0; ;) {
      let begun = false
      try {
        for await (const piece of answer(request, options, deadlines)) {
          begun = true
          yield piece
        }
        return
      } catch (error) {
        if (request.signal.aborted) throw request.signal.reason
        const cause = deadlines.signal.aborted ? deadlines.signal.reason : error
        if (!begun && adapt(habits, request, cause)) continue
        const failure = toFailure(cause)
        if (failure === null) throw cause
        const delay = begun ? null : delayAfter(failure, ++failures, retries)
        if (delay === null) {
          if (failure.report !== null) report(failure.report)
          throw failure.error
        }
        await pause(delay, deadlines.signal)
      }
    }
  } finally {
    deadlines.end()
  }
}

async function* answer(
  request: CompletionRequest,
  { client, model, habits, report }: CompletionOptions,
  deadlines: Deadlines,
): AsyncGenerator<Piece> {
  deadlines.signal.throwIfAborted()
  const { signal } = deadlines
  const stream = await client.chat.completions.create(bodyOf(request, habits.now()), {
    signal,
    ...(request.requestId !== undefined && { headers: { 'x-client-request-id': request.requestId } }),
  })
  const chunks = stream[Symbol.asyncIterator]()
  const text = createTextJoiner()
  let room = mostOf(request.maxTokens ?? model.maxOutputTokens)
  let finishReason: FinishReason | null = null
  let usage: TokenUsage | null = null
  try {
    for (;;) {
      const { done, value } = await deadlines.next(chunks)
      if (done) break
      const chunk = readChunk(value)
      usage = chunk.usage ?? usage
      if (finishReason !== null) continue
      if (chunk.content.length + chunk.thought > 0) deadlines.progress()
      const delta = text.add(chunk.content.slice(0, room))
      room -= chunk.content.length + chunk.thought
      if (delta !== '') yield { delta }
      if (room < 0) {
        report('its answer is longer than it may be and was cut off')
        return yield { end: { finishReason: 'length', usage: null } }
      }
      finishReason = chunk.finishReason
      if (finishReason !== null) deadlines.finish(patience)
    }
  } catch (error) {
    // What breaks after the last piece takes nothing from the answer.
    if (finishReason === null) throw error
  } finally {
    // Ends the connection of an answer that nobody reads to its end.
    void chunks.return?.().catch(() => {})
  }
  if (request.signal.aborted) throw request.signal.reason
  // The client takes an aborted stream for one that ended.
  if (finishReason === null)
    throw signal.aborted ? signal.reason : new BrokenAnswer('its answer has no end', true)
  const rest = text.rest()
  if (rest !== '') yield { delta: rest }
  yield { end: { finishReason, usage } }
}

function bodyOf(
  { model, turns, temperature, maxTokens, stop }: CompletionRequest,
  habits: Habits,
): ChatCompletionCreateParamsStreaming {
  return {
    model,
    messages: turns.map(({ role, content }) => ({ role, content })),
    stream: true,
    ...(habits.usage && { stream_options: { include_usage: true } }),
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { [habits.limit]: maxTokens }),
    ...(stop !== undefined && { stop }),
  }
}

/**
 * Whether the request is made otherwise now, after a server has refused a field that others take.
 * @throws ApiError when it is the caller who wants what the model does not take.
 */
function adapt(habits: KnownHabits, request: CompletionRequest, error: unknown): boolean {
  if (wantsFewerTokens(error)) return false
  const { usage, limit } = habits.now()
  if (usage && (refuses(error, 'stream_options') || refuses(error, 'include_usage'))) {
    habits.learn({ usage: false })
    return true
  }
  if (request.maxTokens !== undefined && limit === 'max_tokens' && refuses(error, 'max_tokens')) {
    habits.learn({ limit: 'max_completion_tokens' })
    return true
  }
  for (const field of ['temperature', 'stop'] as const) {
    if (request[field] !== undefined && refuses(error, field)) throw unsupported(field)
  }
  return false
}

function mostOf(tokens: number | null): number {
  return tokens === null
    ? mostCharacters
    : Math.min(tokens * charactersPerToken + spareCharacters, mostCharacters)
}

/** Ends early when the signal does; who comes next sees that. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  await sleep(milliseconds, undefined, { signal }).catch((error) => {
    if (!signal.aborted) throw error
  })
}
