// The script of the fake model server: what it answers, how fast, and how it fails. And what it records.
import type { IncomingHttpHeaders } from 'node:http'

/** `after` counts the pieces that are sent before the fault. */
export type Fault =
  /** Sends nothing, or nothing more, and keeps the connection open. */
  | { kind: 'hang'; after?: number }
  /** Resets the connection, before the response or after some pieces. */
  | { kind: 'reset'; after?: number }
  /** Closes the connection properly, but without the end of the answer. */
  | { kind: 'end'; after: number }
  /** Answers with this status. */
  | { kind: 'status'; status: number; headers?: Record<string, string>; body?: unknown }
  /** Sends a chunk that is not valid JSON, or an `error` instead of a chunk. */
  | { kind: 'broken_json'; after?: number }
  | { kind: 'error'; after?: number; error?: object }
  /** Sends single bytes at this rate. */
  | { kind: 'drip'; bytesPerSecond?: number }
  /** Sends pieces for ever. */
  | { kind: 'endless'; piece?: string }
  /** Sends one event that never ends. */
  | { kind: 'endless_event' }
  /** Sends the whole answer, but not the end of the stream. */
  | { kind: 'lingering' }

/** Valid differences between the streams of real providers. */
export type StreamVariant =
  | 'crlf'
  | 'comments'
  | 'empty_choices'
  | 'unknown_fields'
  | 'no_done'
  | 'no_usage'
  | 'no_role'
  | 'usage_in_every_chunk'
  | 'usage_twice'
  /** `data:` without a space behind it. */
  | 'no_space'
  /** The stream ends with `[DONE]` alone. */
  | 'no_finish_reason'
  /** The content is a list of parts, after a part with thoughts. */
  | 'parts'
  /** Thoughts between tags, before the answer. */
  | 'think_tags'
  /** One JSON object, although a stream was asked for. */
  | 'not_streamed'
  /** Splits the stream into packets of 7 bytes, within lines and characters. */
  | 'cut'

export interface Script {
  /** Default: repeats the last message. */
  answer?: string
  /** Default: one piece for each word of `answer`. */
  pieces?: string[]
  /** Default: all at once. */
  piecesPerSecond?: number
  finishReason?: 'stop' | 'length' | 'content_filter' | (string & {})
  /** Default: counts words. */
  usage?: {
    prompt_tokens: number
    completion_tokens: number
    prompt_tokens_details?: { cached_tokens: number }
  }
  /** The first piece is sent when this resolves. */
  when?: Promise<unknown>
  /** Sent before the answer as `reasoning_content`, one piece each. */
  thoughts?: string[]
  /** Functions that the model calls in place of an answer. */
  calls?: Array<{ id: string; name: string; arguments: string }>
  fault?: Fault
  variants?: StreamVariant[]
  /** Request fields that are rejected as OpenAI does: `field`, or `field=value`. */
  rejects?: string[]
  /** Answers embeddings as lists of numbers even if base64 is requested, as many servers do. */
  floats?: boolean
}

export interface RecordedRequest {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: any
  /** Milliseconds since the epoch: the arrival, and the end of the response or connection. */
  at: number
  endedAt: number | null
  /** Pieces that were sent. */
  pieces: number
  outcome: 'open' | 'answered' | 'failed' | 'aborted'
}

/** The models of the server, and the key that it requires. */
export interface Offer {
  key: string | null
  models: string[]
  embeddings: { model: string; dimensions: number } | null | undefined
}
