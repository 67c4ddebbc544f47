// Counts the o200k tokens of a text as gpt-tokenizer does, from its data file instead of its modules: each
// parser process would spend 0.2 s of CPU to compile them. Takes linear time: longer runs are split.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { O200K_TOKEN_SPLIT_REGEX as words } from 'gpt-tokenizer/encodingParams/constants'
import { Vocabulary } from './vocabulary.ts'

/**
 * Characters of a run (letters, punctuation or whitespace) that are encoded at once. Longer runs are split
 * there, which adds at most one token per split.
 */
const maxRun = 256
const longRun = new RegExp(`[\\p{L}\\p{M}]{${maxRun}}|[^\\s\\p{L}\\p{N}]{${maxRun}}|\\s{${maxRun}}`, 'gu')
const mayHaveLongRun = new RegExp(`\\S{${maxRun}}|\\s{${maxRun}}`)

const dataFile = fileURLToPath(import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken'))
const vocabulary = new Vocabulary(readFileSync(dataFile))
const encoder = new TextEncoder()
let wordBytes = new Uint8Array(4096)

/** Tokens of recent words: a long word takes quadratic time, and malicious texts repeat such words. */
const recentWords = new Map<string, number>()
const maxRecentWords = 20_000

/** Special tokens in a document, such as `<|endoftext|>`, are counted as plain text. */
export function countTokens(text: string): number {
  if (!mayHaveLongRun.test(text)) return countWords(text)
  let tokens = 0
  let from = 0
  for (const match of text.matchAll(longRun)) {
    const end = match.index + match[0].length
    tokens += countWords(text.slice(from, end))
    from = end
  }
  return tokens + countWords(text.slice(from))
}

function countWords(text: string): number {
  let tokens = 0
  for (const word of text.match(words) ?? []) tokens += recentWords.get(word) ?? countWord(word)
  return tokens
}

function countWord(word: string): number {
  if (word.length * 3 > wordBytes.length) wordBytes = new Uint8Array(word.length * 3)
  const tokens = vocabulary.countTokens(wordBytes, encoder.encodeInto(word, wordBytes).written)
  if (recentWords.size >= maxRecentWords) recentWords.clear()
  recentWords.set(word, tokens)
  return tokens
}
