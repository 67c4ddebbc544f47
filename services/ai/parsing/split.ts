// Splits a text into units, the smallest parts of a chunk: sentences, rows and headings. Only a unit that
// exceeds a chunk is cut further.
import type { Range, ParsedDocument } from './parsed-document.ts'
import { countTokens } from './count-tokens.ts'

export interface Unit {
  /** Range without surrounding whitespace. */
  start: number
  end: number
  /**
   * Range including whitespace. Units are adjacent: the border between two is the last line break between
   * them, or the end of the first.
   */
  from: number
  to: number
  /** Tokens of `from` to `to`. The counts add up, because no token crosses these borders. */
  tokens: number
  /** Whether the unit is a fragment of a sentence that was too long. */
  isFragment: boolean
  isHeading: boolean
}

/**
 * UTF-16 code units that are scanned at once, so that the cost stays linear for a text without sentences or
 * words.
 */
const maxWindow = 16_384
/**
 * A line of at least this length continues in the next line, unless that line starts a list item or another
 * block.
 */
const minWrappedLine = 40
const blockStart = /^\s*(?:[-*+•‣◦–|>#]|\d{1,4}[.)]|[a-z][.)]\s|```|~~~)/
/**
 * UTF-16 code units of a row that is never split. A longer row is split into sentences, a longer record only
 * if it exceeds a chunk; tokens are counted only for records of at most `maxTokenLength` characters per
 * allowed token.
 */
const maxRow = 1000
const maxTokenLength = 8

const sentenceSegmenter = new Intl.Segmenter('en', { granularity: 'sentence' })

/**
 * The units of a part of the text, in order. Every character other than whitespace is in exactly one unit.
 */
export function* splitIntoUnits(document: ParsedDocument, part: Range, maxTokens: number): Generator<Unit> {
  const { text } = document
  let from = part.start
  for (const piece of piecesOf(document, part, document.records === true ? maxTokens : 0)) {
    const end = piece.end
    const to = Math.min(part.end, whitespaceEnd(text, end))
    const tokens = countTokens(text.slice(from, to))
    const unit = { start: piece.start, end, from, to, tokens, isFragment: false, isHeading: piece.isHeading }
    // A word may have more tokens without the space before it.
    if (tokens > maxTokens - 8 && countTokens(text.slice(piece.start, end)) > maxTokens)
      yield* cutUnit(text, unit, maxTokens)
    else yield unit
    from = to
  }
}

/** The end of the last line break in the whitespace at `at`, or `at` if that contains none. */
function whitespaceEnd(text: string, at: number): number {
  let end = at
  for (let index = at; index < text.length && index - at < maxWindow && isWhitespace(text, index); index++)
    if (text[index] === '\n') end = index + 1
  return end
}

function isWhitespace(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return code === 32 || (code >= 9 && code <= 13) || (code >= 160 && /\s/.test(text[index]))
}

interface Piece extends Range {
  isHeading: boolean
}

/**
 * Sentences, rows and headings without surrounding whitespace. Rows of at most `wholeRowTokens` are not
 * split.
 */
function* piecesOf(
  { text, headings, rows }: ParsedDocument,
  part: Range,
  wholeRowTokens: number,
): Generator<Piece> {
  const headingsInside = headings.slice(
    firstIndexFrom(headings, part.start),
    firstIndexFrom(headings, part.end),
  )
  // Rows that start before the part may reach into it.
  const first = firstIndexFrom(rows, part.start)
  const rowsInside = rows.slice(
    first > 0 && rows[first - 1].end > part.start ? first - 1 : first,
    firstIndexFrom(rows, part.end),
  )
  const headingRanges = headingsInside.map(({ start }) => ({
    start,
    end: lineEnd(text, start, part.end),
    kind: 'heading' as const,
  }))
  const nonProse = [
    ...headingRanges,
    ...rowsInside.map(({ start, end }) => ({
      start: Math.max(start, part.start),
      end: Math.min(end, part.end),
      kind: 'rows' as const,
    })),
  ].sort((a, b) => a.start - b.start)
  let at = part.start
  for (const { start, end, kind } of nonProse) {
    if (end <= at) continue
    yield* proseOf(text, { start: at, end: start })
    at = Math.max(at, start)
    if (kind === 'heading') yield* trimmed(text, at, end, true)
    else yield* rowsOf(text, { start: at, end }, wholeRowTokens)
    at = end
  }
  yield* proseOf(text, { start: at, end: part.end })
}

function lineEnd(text: string, start: number, limit: number): number {
  const end = text.indexOf('\n', start)
  return end === -1 ? limit : Math.min(end, limit)
}

/** Index of the first range that starts at `start` or later, by binary search. */
export function firstIndexFrom(ranges: { start: number }[], start: number): number {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ranges[middle].start < start) low = middle + 1
    else high = middle
  }
  return low
}

function* trimmed(text: string, start: number, end: number, isHeading = false): Generator<Piece> {
  while (start < end && isWhitespace(text, start)) start++
  while (end > start && isWhitespace(text, end - 1)) end--
  if (start < end) yield { start, end, isHeading }
}

function* rowsOf(text: string, { start, end }: Range, wholeRowTokens: number): Generator<Piece> {
  while (start < end) {
    const stop = lineEnd(text, start, end)
    const whole =
      stop - start <= maxRow ||
      (stop - start <= wholeRowTokens * maxTokenLength &&
        countTokens(text.slice(start, stop)) <= wholeRowTokens)
    if (!whole) yield* proseOf(text, { start, end: stop })
    else yield* trimmed(text, start, stop)
    start = stop + 1
  }
}

/** The sentences of each paragraph. */
function* proseOf(text: string, { start, end }: Range): Generator<Piece> {
  while (start < end) {
    const limit = Math.min(end, start + maxWindow)
    const stop = limit === end ? end : windowEnd(text, start, limit)
    for (const paragraph of paragraphsOf(text, start, stop)) yield* sentencesOf(text, paragraph)
    start = stop
  }
}

/**
 * Where to end a window, in its second half: after a blank line, a line, a sentence or a word, in this order.
 */
function windowEnd(text: string, start: number, limit: number): number {
  const half = start + ((limit - start) >> 1)
  const window = text.slice(half, limit)
  for (const border of ['\n\n', '\n', '. ', ' ']) {
    const index = window.lastIndexOf(border)
    if (index !== -1) return half + index + border.length
  }
  return characterBoundary(text, limit)
}

/** `at`, or one less if `at` would split a surrogate pair. */
function characterBoundary(text: string, at: number): number {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
    ? at - 1
    : at
}

function* paragraphsOf(text: string, start: number, end: number): Generator<Range> {
  const window = text.slice(start, end)
  let from = 0
  for (const blank of window.matchAll(/\n[^\S\n]*\n\s*|\s{200,}/g)) {
    yield { start: start + from, end: start + blank.index }
    from = blank.index + blank[0].length
  }
  yield { start: start + from, end }
}

/**
 * Replaces the line breaks of wrapped sentences by spaces, so that the segmenter does not end a sentence
 * there.
 */
function* sentencesOf(text: string, { start, end }: Range): Generator<Piece> {
  const lines = text.slice(start, end).split('\n')
  const unwrapped = lines
    .map((line, index) => {
      if (index === lines.length - 1) return line
      const isWrapped =
        line.length >= minWrappedLine && !blockStart.test(lines[index + 1]) && !/^\s*\|/.test(line)
      return line + (isWrapped ? ' ' : '\n')
    })
    .join('')
  for (const { index, segment } of sentenceSegmenter.segment(unwrapped))
    yield* trimmed(text, start + index, start + index + segment.length)
}

/** Fragments of at most `maxTokens`, cut between words, or between characters if a word is too long. */
function* cutUnit(text: string, { start, end, to, isHeading }: Unit, maxTokens: number): Generator<Unit> {
  let at = start
  let tokens = 0
  let from = start
  for (const word of wordRanges(text, start, end, Math.max(16, Math.floor(maxTokens / 3) - 1))) {
    const wordTokens = countTokens(text.slice(word.start, word.end))
    if (tokens + wordTokens > maxTokens && at > from) {
      yield* fragments(text, { start: from, end: at }, isHeading, maxTokens)
      from = word.start
      tokens = 0
    }
    at = word.end
    tokens += wordTokens
  }
  for (const unit of fragments(text, { start: from, end: at }, isHeading, maxTokens))
    yield unit.end === end ? { ...unit, to } : unit
}

/**
 * Counts the tokens of the range as a whole, and halves it in the rare case that they exceed the sum of its
 * words.
 */
function* fragments(text: string, range: Range, isHeading: boolean, maxTokens: number): Generator<Unit> {
  const { start: from, end: to } = range
  for (const { start, end } of trimmed(text, from, to)) {
    const tokens = countTokens(text.slice(start, end))
    const middle = characterBoundary(text, (start + end) >> 1)
    if (tokens <= maxTokens || middle === start) {
      yield { start, end, from, to, tokens, isFragment: true, isHeading }
      continue
    }
    yield* fragments(text, { start: from, end: middle }, isHeading, maxTokens)
    yield* fragments(text, { start: middle, end: to }, isHeading, maxTokens)
  }
}

/** Words with the whitespace before them, cut to `maxLength`: a UTF-16 code unit has at most three tokens. */
function* wordRanges(text: string, start: number, end: number, maxLength: number): Generator<Range> {
  const words = /\s*\S+/y
  const sentence = text.slice(start, end)
  for (let match = words.exec(sentence); match !== null; match = words.exec(sentence)) {
    let from = start + match.index
    const stop = from + match[0].length
    while (stop - from > maxLength) {
      const cut = characterEnd(text, from, from + maxLength)
      yield { start: from, end: cut }
      from = cut
    }
    if (stop > from) yield { start: from, end: stop }
  }
}

const combining = /^(?:\p{M}|\u200d)/u

/**
 * Where to cut before `limit`: not between a letter and its combining marks, unless there are more than
 * eight.
 */
function characterEnd(text: string, start: number, limit: number): number {
  let end = characterBoundary(text, limit)
  for (let back = 0; back < 8 && end - 1 > start && combining.test(text.slice(end, end + 2)); back++)
    end = characterBoundary(text, end - 1)
  return combining.test(text.slice(end, end + 2)) ? characterBoundary(text, limit) : end
}
