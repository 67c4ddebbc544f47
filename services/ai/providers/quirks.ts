// Parameters that a provider has rejected and other providers accept. A quirk is read from an error message,
// which may repeat text of a user, so it is forgotten after five minutes.
export interface Quirks {
  /** Whether the provider accepts `stream_options`. */
  acceptsUsage: boolean
  /** OpenAI's newer models reject `max_tokens`; most other servers know only `max_tokens`. */
  limitField: 'max_tokens' | 'max_completion_tokens'
}

export interface KnownQuirks {
  current(): Quirks
  learn(change: Partial<Quirks>): void
}

/** Milliseconds after the last change. */
const memoryMs = 300_000

export function createQuirks(
  defaults: Quirks,
  { clock = () => performance.now() }: { clock?: () => number } = {},
): KnownQuirks {
  let learned = defaults
  let expiresAt = -Infinity
  const current = (): Quirks => (clock() < expiresAt ? learned : defaults)
  return {
    current,
    learn(change) {
      learned = { ...current(), ...change }
      expiresAt = clock() + memoryMs
    },
  }
}
