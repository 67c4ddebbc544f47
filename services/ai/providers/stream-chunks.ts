// Parses the chunks of a streamed completion, in the dialects of the providers. A chunk that breaks the
// format where it matters is an InvalidAnswer; everything else is ignored.
import { storableText } from '../../../infra/text.ts'
import { InvalidAnswer } from './errors.ts'

export type FinishReason = 'stop' | 'length' | 'content_filter'
export interface TokenUsage {
  promptTokens: number
  completionTokens: number
  /** The prompt tokens that the provider had in its cache. */
  cachedTokens: number
}

export interface Chunk {
  content: string
  /** Thoughts of the model. They are not part of the answer, but count as progress and as tokens. */
  thoughts: string
  /** Pieces of calls of functions. */
  toolCalls: unknown
  finishReason: FinishReason | null
  usage: TokenUsage | null
}

/** @throws InvalidAnswer */
export function parseChunk(value: unknown): Chunk {
  const { choices, usage } = objectOf(value)
  if (choices !== undefined && choices !== null && !Array.isArray(choices))
    throw new InvalidAnswer('its answer has no list of choices')
  const choice = choices?.find((item) => (objectOf(item).index ?? 0) === 0)
  // An answer that is not streamed has a `message`.
  const { delta, message, finish_reason: finish } = choice === undefined ? {} : objectOf(choice)
  const {
    content,
    refusal,
    reasoning_content: reasoningContent,
    reasoning,
    tool_calls: toolCalls,
  } = objectOf(delta ?? message ?? {})
  return {
    content: textOf(content) + textOf(refusal),
    thoughts: stringOf(reasoningContent) + stringOf(reasoning) + thoughtsIn(content),
    toolCalls,
    finishReason: finish === undefined || finish === null || finish === '' ? null : finishReasonOf(finish),
    usage: parseUsage(usage),
  }
}

/**
 * Joins surrogate pairs that were split across chunks. Replaces lone surrogates and U+0000, which UTF-8 or
 * PostgreSQL cannot store, with U+FFFD.
 */
export function createTextJoiner(): { add(text: string): string; end(): string } {
  let pending = ''
  return {
    add(text) {
      const all = pending + text
      const last = all.charCodeAt(all.length - 1)
      pending = last >= 0xd800 && last <= 0xdbff ? all.slice(-1) : ''
      return storableText(pending === '' ? all : all.slice(0, -1))
    },
    end: () => storableText(pending),
  }
}

const thoughtStart = '<think>'
const thoughtEnd = '</think>'

/** Removes the thoughts between `<think>` and `</think>` with which some models begin an answer. */
export function createThoughtFilter(): { add(text: string): string; end(): string } {
  /** What may belong to a tag; null in the answer itself. */
  let pending: string | null = ''
  let state: 'start' | 'thought' | 'blank' = 'start'
  const add = (text: string): string => {
    if (pending === null) return text
    pending += text
    if (state === 'start') {
      const start = pending.trimStart()
      if (start.length < thoughtStart.length && thoughtStart.startsWith(start)) return ''
      if (!start.startsWith(thoughtStart)) return end()
      state = 'thought'
    }
    if (state === 'thought') {
      const at = pending.indexOf(thoughtEnd)
      if (at === -1) pending = pending.slice(1 - thoughtEnd.length)
      else {
        pending = pending.slice(at + thoughtEnd.length)
        state = 'blank'
      }
    }
    if (state === 'thought') return ''
    pending = pending.trimStart()
    return pending === '' ? '' : end()
  }
  const end = (): string => {
    const text = state === 'thought' ? '' : (pending ?? '')
    pending = null
    return text
  }
  return { add, end }
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidAnswer('its answer has an unknown format')
  return value as Record<string, unknown>
}

/** The text, or that of the parts of the type `text`. Other parts, such as thoughts, are no answer. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) throw new InvalidAnswer('its answer is not text')
  return value.map((part) => (partOf(part).type === 'text' ? textOf(partOf(part).text) : '')).join('')
}

/** The parts that are thoughts: `{ type: 'thinking', thinking }`, a text or parts again. */
function thoughtsIn(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return content.map((part) => textOf(partOf(part).thinking ?? '')).join('')
}

function partOf(value: unknown): Record<string, unknown> {
  return typeof value === 'string' ? { type: 'text', text: value } : objectOf(value)
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The names of other servers for `length`. */
const lengthReasons = new Set(['length', 'max_tokens', 'model_length'])

/** An answer with another reason is complete: servers name the token that ended it, such as `eos_token`. */
function finishReasonOf(value: unknown): FinishReason {
  if (value === 'content_filter') return value
  return typeof value === 'string' && lengthReasons.has(value) ? 'length' : 'stop'
}

function parseUsage(value: unknown): TokenUsage | null {
  const {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    prompt_tokens_details: details,
  } = fieldsOf(value)
  if (!isCount(promptTokens) || !isCount(completionTokens)) return null
  const { cached_tokens: cached } = fieldsOf(details)
  return {
    promptTokens,
    completionTokens,
    cachedTokens: isCount(cached) ? Math.min(cached, promptTokens) : 0,
  }
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
