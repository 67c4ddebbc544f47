// The received part of a streamed completion: the text, its limit, and the finish reason.
import type { EventSourceMessage } from 'eventsource-parser'
import { APIError } from 'openai'
import { ReceivedCalls, type ToolCall } from './tool-calls.ts'
import {
  createTextJoiner,
  createThoughtFilter,
  parseChunk,
  type FinishReason,
  type TokenUsage,
} from './stream-chunks.ts'

/** Characters of an answer without a token limit. */
const maxCharacters = 4_000_000
/** An answer of n tokens may have n × charactersPerToken + spareCharacters characters. */
const charactersPerToken = 32
const spareCharacters = 4096

export class ReceivedAnswer {
  /** null until the provider has sent it. */
  finishReason: FinishReason | null = null
  usage: TokenUsage | null = null
  /** Whether the last events had text or thoughts. */
  hasGrown = false
  /** The thoughts of the last events. */
  thoughts = ''
  /** Whether the last events had pieces of calls. */
  hasCalled = false
  /**
   * Whether nothing else is to be read: the provider has declared the end of the stream, or has sent an error
   * after the finish reason.
   */
  isComplete = false
  readonly #headers: Headers
  readonly #text = createTextJoiner()
  readonly #calls = new ReceivedCalls()
  readonly #filter = createThoughtFilter()
  #remaining: number
  #hasChunks = false

  constructor(maxTokens: number | null, headers: Headers) {
    this.#headers = headers
    this.#remaining = maxCharactersOf(maxTokens)
  }

  /** Whether the answer exceeds the limit of its length. */
  get isCut(): boolean {
    return this.#remaining < 0
  }

  /** @returns the new text, and the error of the event behind it. After the finish reason there is none. */
  add(events: EventSourceMessage[]): { delta: string; error: unknown } {
    this.hasGrown = false
    this.hasCalled = false
    this.thoughts = ''
    let delta = ''
    try {
      for (const event of events) {
        delta += this.#add(event)
        if (this.isCut || this.isComplete) break
      }
      return { delta, error: null }
    } catch (error) {
      if (this.finishReason === null) return { delta, error }
      this.isComplete = true
      return { delta, error: null }
    }
  }

  /** The calls so far, see `ReceivedCalls`. */
  get begunCalls(): ToolCall[] {
    return this.#calls.begun
  }

  get toolCalls(): ToolCall[] {
    return this.#calls.calls
  }

  /** Text that was held back until the end, because its next chunk could have completed a character. */
  end(): string {
    return this.#text.add(this.#filter.end()) + this.#text.end()
  }

  #add({ event, data }: EventSourceMessage): string {
    if (data === '[DONE]') {
      this.isComplete = true
      if (this.#hasChunks) this.finishReason ??= 'stop'
      return ''
    }
    const value = JSON.parse(data)
    // As the official client does.
    if (event === 'error' || value?.error)
      throw new APIError(undefined, value?.error ?? value, undefined, this.#headers)
    const chunk = parseChunk(value)
    this.#hasChunks = true
    this.usage = chunk.usage ?? this.usage
    if (this.finishReason !== null) return ''
    const called = this.#calls.add(chunk.toolCalls)
    if (called > 0) this.hasCalled = true
    const length = chunk.content.length + chunk.thoughts.length + called
    if (length > 0) this.hasGrown = true
    const content = chunk.content.slice(0, this.#remaining)
    const text = this.#filter.add(content)
    // The filter removes thoughts from the beginning.
    this.thoughts += chunk.thoughts + content.slice(0, Math.max(0, content.length - text.length))
    this.#remaining -= length
    if (!this.isCut) this.finishReason = chunk.finishReason
    return this.#text.add(text)
  }
}

function maxCharactersOf(tokens: number | null): number {
  return tokens === null
    ? maxCharacters
    : Math.min(tokens * charactersPerToken + spareCharacters, maxCharacters)
}
