// Parses the chunks of a streamed completion. Providers differ: a chunk that breaks the format where it
// matters is an InvalidAnswer; everything else is ignored.
import { InvalidAnswer } from './errors.ts'

export type FinishReason = 'stop' | 'length' | 'content_filter'
export interface TokenUsage {
  promptTokens: number
  completionTokens: number
}

export interface Chunk {
  content: string
  /** Characters of reasoning. They are not part of the answer but count as progress. */
  reasoningLength: number
  finishReason: FinishReason | null
  usage: TokenUsage | null
}

/** @throws InvalidAnswer */
export function parseChunk(value: unknown): Chunk {
  const { choices, usage } = objectOf(value)
  if (choices !== undefined && choices !== null && !Array.isArray(choices))
    throw new InvalidAnswer('its answer has no list of choices')
  const choice = choices?.find((item) => (objectOf(item).index ?? 0) === 0)
  const { delta, finish_reason: finish } = choice === undefined ? {} : objectOf(choice)
  const { content, refusal, reasoning_content: reasoningContent, reasoning } = objectOf(delta ?? {})
  return {
    content: textOf(content) + textOf(refusal),
    reasoningLength: lengthOf(reasoningContent) + lengthOf(reasoning),
    finishReason: finish === undefined || finish === null || finish === '' ? null : parseFinishReason(finish),
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
      return sanitize(pending === '' ? all : all.slice(0, -1))
    },
    end: () => sanitize(pending),
  }
}

function sanitize(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new InvalidAnswer('its answer has an unknown format')
  return value as Record<string, unknown>
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw new InvalidAnswer('its answer is not text')
  return value
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0
}

function parseFinishReason(value: unknown): FinishReason {
  if (value === 'stop' || value === 'length' || value === 'content_filter') return value
  throw new InvalidAnswer('its answer has an unknown finish reason')
}

function parseUsage(value: unknown): TokenUsage | null {
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  return isCount(promptTokens) && isCount(completionTokens) ? { promptTokens, completionTokens } : null
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
