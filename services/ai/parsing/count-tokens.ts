// How many tokens of o200k a text has, without the quadratic cost of endless words.
import { countTokens as count } from 'gpt-tokenizer/encoding/o200k_base'

/** The encoder's cost grows with the square of such a run, so a longer one is counted in parts: at most a token more for each. */
const longestRun = 256
const run = new RegExp(
  `[\\p{L}\\p{M}]{${longestRun}}|[^\\s\\p{L}\\p{N}]{${longestRun}}|\\s{${longestRun}}`,
  'gu',
)
const mayHaveRun = new RegExp(`\\S{${longestRun}}|\\s{${longestRun}}`)
/** What looks like a special token in a document is text like any other. */
const plain = { disallowedSpecial: new Set<string>() }

export function countTokens(text: string): number {
  if (!mayHaveRun.test(text)) return count(text, plain)
  let tokens = 0
  let from = 0
  for (const match of text.matchAll(run)) {
    const end = match.index + match[0].length
    tokens += count(text.slice(from, end), plain)
    from = end
  }
  return tokens + count(text.slice(from), plain)
}
