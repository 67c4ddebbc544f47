// Splits texts and queries into words, before PostgreSQL stems them. PostgreSQL's own parser does not support
// scripts without spaces, and treats `and/or` as a file name.
const wordPattern = new RegExp(
  [
    '[\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー々]+',
    '[\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}]+',
    '[\\p{L}\\p{M}\\p{N}]+',
  ].join('|'),
  'gu',
)
const cjk = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]/u
const southeastAsian = /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** Longer words are truncated: a B-tree index entry has a limited size. */
const maxWordLength = 60

/**
 * The words of a text, in lower case and in order. Chinese, Japanese and Korean become overlapping character
 * pairs, which need no dictionary; Thai, Lao, Khmer and Burmese are segmented with the dictionary of ICU.
 */
export function tokenize(text: string): string[] {
  const words: string[] = []
  for (const [match] of text.normalize('NFKC').toLowerCase().matchAll(wordPattern)) {
    if (cjk.test(match)) words.push(...characterPairs(match))
    else if (southeastAsian.test(match))
      for (const { segment } of segmenter.segment(match)) words.push(segment)
    else words.push(match.length > maxWordLength ? Array.from(match).slice(0, maxWordLength).join('') : match)
  }
  return words
}

function characterPairs(text: string): string[] {
  const characters = Array.from(text)
  return characters.length === 1
    ? characters
    : characters.slice(1).map((character, i) => characters[i] + character)
}

/** Removes accents and expands ligatures: `müller` becomes `muller`, `straße` becomes `strasse`. */
export function foldAccents(word: string): string {
  return word
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll('æ', 'ae')
    .replaceAll('œ', 'oe')
    .replaceAll('ø', 'o')
}
