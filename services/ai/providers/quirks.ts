// What a server has refused of requests that others take: not asked for again for a while. It was taken from an answer that may
// repeat what a user wrote, so it is never believed for long.
export interface Habits {
  /** Whether it takes `stream_options`. */
  usage: boolean
  /** OpenAI's newer models refuse the first, most other servers know only that. */
  limit: 'max_tokens' | 'max_completion_tokens'
}

export interface KnownHabits {
  now(): Habits
  learn(change: Partial<Habits>): void
}

/** Milliseconds that what was learnt holds. */
const lasting = 300_000

export function createHabits(
  usual: Habits,
  { clock = () => performance.now() }: { clock?: () => number } = {},
): KnownHabits {
  let learnt = usual
  let until = -Infinity
  const now = (): Habits => (clock() < until ? learnt : usual)
  return {
    now,
    learn(change) {
      learnt = { ...now(), ...change }
      until = clock() + lasting
    },
  }
}
