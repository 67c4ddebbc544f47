// What providers reject although others accept it. The request is then sent again in another form, and later
// ones are. A quirk is read from an error message, which may repeat text of a user, so it is forgotten after
// five minutes.
import { isUnsupportedParameter } from './errors.ts'

export interface Quirks {
  /** Whether the provider accepts `stream_options`. */
  acceptsUsage: boolean
  /** OpenAI's newer models reject `max_tokens`; most other servers know only `max_tokens`. */
  limitField: 'max_tokens' | 'max_completion_tokens'
  /** Some servers of embeddings know only lists of numbers. */
  encoding: 'base64' | 'float'
  /** Servers of embeddings of one fixed length reject `dimensions`. */
  acceptsDimensions: boolean
}

/** A field that is rejected, by one of these names, and what changes. */
const rejections: Array<{ field: string; names?: string[]; change: Partial<Quirks> }> = [
  { field: 'stream_options', names: ['include_usage'], change: { acceptsUsage: false } },
  { field: 'max_tokens', change: { limitField: 'max_completion_tokens' } },
  { field: 'encoding_format', names: ['base64'], change: { encoding: 'float' } },
  { field: 'dimensions', change: { acceptsDimensions: false } },
]

const defaults: Quirks = {
  acceptsUsage: true,
  limitField: 'max_tokens',
  encoding: 'base64',
  acceptsDimensions: true,
}

export interface KnownQuirks {
  current(): Quirks
  /** Whether to send the request with these fields again, in another form. */
  learn(error: unknown, sent: object): boolean
}

/** Milliseconds after the last change. */
const memoryMs = 300_000

export function createQuirks(
  own: Partial<Quirks> = {},
  { clock = () => performance.now() }: { clock?: () => number } = {},
): KnownQuirks {
  const usual = { ...defaults, ...own }
  let learned = usual
  let expiresAt = -Infinity
  const current = (): Quirks => (clock() < expiresAt ? learned : usual)
  return {
    current,
    learn(error, sent) {
      const rejected = rejections.find(
        ({ field, names = [], change }) =>
          Object.hasOwn(sent, field) &&
          !isIn(current(), change) &&
          [field, ...names].some((name) => isUnsupportedParameter(error, name)),
      )
      if (rejected === undefined) return false
      learned = { ...current(), ...rejected.change }
      expiresAt = clock() + memoryMs
      return true
    },
  }
}

function isIn(quirks: Quirks, change: Partial<Quirks>): boolean {
  return Object.entries(change).every(([name, value]) => quirks[name as keyof Quirks] === value)
}
