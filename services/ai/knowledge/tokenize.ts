// The words of a text, as both documents and questions are cut before PostgreSQL stems them: its own parser knows no
// scripts without blanks, and takes `and/or` for a file.
const pieces =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]+|[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+|[\p{L}\p{M}\p{N}]+/gu
const paired = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々]/u
const unspaced = /^[\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' })

/** What is longer is no word that anybody looks for, and more than an index takes. */
const longest = 60

/**
 * In lower case and in order. Chinese, Japanese and Korean as overlapping pairs of characters, which need no dictionary;
 * Thai, Lao, Khmer and Burmese by the dictionary of ICU.
 */
export function tokenize(text: string): string[] {
  const words: string[] = []
  for (const [piece] of text.normalize('NFKC').toLowerCase().matchAll(pieces)) {
    if (paired.test(piece)) words.push(...pairsOf(piece))
    else if (unspaced.test(piece)) for (const { segment } of segmenter.segment(piece)) words.push(segment)
    else words.push(piece.length > longest ? Array.from(piece).slice(0, longest).join('') : piece)
  }
  return words
}

function pairsOf(piece: string): string[] {
  const characters = Array.from(piece)
  return characters.length === 1
    ? characters
    : characters.slice(1).map((character, i) => characters[i] + character)
}

/** A word without what it is easily written without: `müller` as `muller`, `strasse` for `straße`. */
export function foldAccents(word: string): string {
  return word
    .normalize('NFD')
    .replace(/\p{M}+/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll('æ', 'ae')
    .replaceAll('œ', 'oe')
    .replaceAll('ø', 'o')
}
