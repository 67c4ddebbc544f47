// Reads the chunks of a streamed completion, which come from servers of all kinds: what is not as published and matters is a
// broken answer, what does not matter is passed over.
import { BrokenAnswer } from './errors.ts'

export type FinishReason = 'stop' | 'length' | 'content_filter'
export interface TokenUsage {
  promptTokens: number
  completionTokens: number
}

export interface Chunk {
  content: string
  /** Characters of thoughts that are not part of the answer, but show that it is under way. */
  thought: number
  finishReason: FinishReason | null
  usage: TokenUsage | null
}

/** @throws BrokenAnswer */
export function readChunk(value: unknown): Chunk {
  const { choices, usage } = fields(value)
  if (choices !== undefined && choices !== null && !Array.isArray(choices))
    throw new BrokenAnswer('its answer has no list of choices')
  const choice = choices?.find((one) => (fields(one).index ?? 0) === 0)
  const { delta, finish_reason: finish } = choice === undefined ? {} : fields(choice)
  const { content, refusal, reasoning_content: reasoningContent, reasoning } = fields(delta ?? {})
  return {
    content: text(content) + text(refusal),
    thought: lengthOf(reasoningContent) + lengthOf(reasoning),
    finishReason: finish === undefined || finish === null || finish === '' ? null : finishReason(finish),
    usage: readUsage(usage),
  }
}

/**
 * Puts together what was cut between the halves of a character, and lets nothing through that no UTF-8 and no database can
 * hold: a half without the other, and U+0000, become U+FFFD.
 */
export function createTextJoiner(): { add(text: string): string; rest(): string } {
  let held = ''
  return {
    add(text) {
      const all = held + text
      const last = all.charCodeAt(all.length - 1)
      held = last >= 0xd800 && last <= 0xdbff ? all.slice(-1) : ''
      return clean(held === '' ? all : all.slice(0, -1))
    },
    rest: () => clean(held),
  }
}

function clean(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

function fields(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new BrokenAnswer('its answer is of another form')
  return value as Record<string, unknown>
}

function text(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string') throw new BrokenAnswer('its answer is no text')
  return value
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0
}

function finishReason(value: unknown): FinishReason {
  if (value === 'stop' || value === 'length' || value === 'content_filter') return value
  throw new BrokenAnswer('its answer ended for a reason that is none of an answer')
}

function readUsage(value: unknown): TokenUsage | null {
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  return isCount(promptTokens) && isCount(completionTokens) ? { promptTokens, completionTokens } : null
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
