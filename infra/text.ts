// Texts that are cut to a length, and texts that can be stored.

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
/** A longer grapheme, such as a letter with hundreds of accents, is cut between two of its code points. */
const maxGraphemeLength = 64

/**
 * The start of a text: at most `maxLength` UTF-16 code units, as `String.length` counts. Ends neither inside
 * a surrogate pair nor inside a grapheme, such as a letter with its accents or a family of emoji. Lone
 * surrogates become U+FFFD.
 */
export function truncateText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text.toWellFormed()
  return text.slice(0, cutAt(text, maxLength)).toWellFormed()
}

function cutAt(text: string, maxLength: number): number {
  // Whether there is a boundary depends on the text before it and one code point after it.
  const { index } = graphemes.segment(text.slice(0, maxLength + 2)).containing(maxLength)!
  if (index > 0 && index >= maxLength - maxGraphemeLength) return index
  const isInsidePair = maxLength > 0 && text.codePointAt(maxLength - 1)! > 0xffff
  return isInsidePair ? maxLength - 1 : maxLength
}

/** The text with U+FFFD for NUL, which PostgreSQL cannot store, and for lone surrogates. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
