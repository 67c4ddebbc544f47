// Counts the o200k tokens of a text in linear time: the encoder needs quadratic time for very long words.
import { countTokens as encodeAndCount } from 'gpt-tokenizer/encoding/o200k_base'

/**
 * Characters of a run (letters, punctuation or whitespace) that are encoded at once. Longer runs are split
 * there, which adds at most one token per split.
 */
const maxRun = 256
const longRun = new RegExp(`[\\p{L}\\p{M}]{${maxRun}}|[^\\s\\p{L}\\p{N}]{${maxRun}}|\\s{${maxRun}}`, 'gu')
const mayHaveLongRun = new RegExp(`\\S{${maxRun}}|\\s{${maxRun}}`)
/** Special tokens in a document, such as `<|endoftext|>`, are counted as plain text. */
const options = { disallowedSpecial: new Set<string>() }

export function countTokens(text: string): number {
  if (!mayHaveLongRun.test(text)) return encodeAndCount(text, options)
  let tokens = 0
  let from = 0
  for (const match of text.matchAll(longRun)) {
    const end = match.index + match[0].length
    tokens += encodeAndCount(text.slice(from, end), options)
    from = end
  }
  return tokens + encodeAndCount(text.slice(from), options)
}
