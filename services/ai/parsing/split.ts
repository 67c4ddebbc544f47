// The smallest parts that a chunk is made of: sentences, rows, headings; and parts of those only where one is too long.
import type { Range, ParsedDocument } from './parsed-document.ts'
import { countTokens } from './count-tokens.ts'

export interface Unit {
  /** From its first character that is no blank to its last. */
  start: number
  end: number
  /** With the blanks around it: up to the last line end after it, and from there on. Units lie side by side. */
  from: number
  to: number
  /** Of `from` to `to`. They add up, since a token never reaches beyond these borders. */
  tokens: number
  /** Whether it is part of a sentence only. */
  cut: boolean
  heading: boolean
}

/** What is looked at at once, so that no cost grows with a whole text that has no sentence, line or word. */
const longestWindow = 16_384
/** A line that is at least so long goes on in the next, where that does not begin something new. */
const shortestWrapped = 40
const begins = /^\s*(?:[-*+•‣◦–|>#]|\d{1,4}[.)]|[a-z][.)]\s|```|~~~)/
/** A row that is longer is divided into its sentences; a record only where it is longer than a chunk, which a token of so many characters tells without counting. */
const longestRow = 1000
const longestToken = 8

const sentences = new Intl.Segmenter('en', { granularity: 'sentence' })

/** The units of a part of the text, in order. Every character that is no blank is in exactly one. */
export function* splitIntoUnits(structure: ParsedDocument, part: Range, maxTokens: number): Generator<Unit> {
  const { text } = structure
  let from = part.start
  for (const piece of pieces(structure, part, structure.records === true ? maxTokens : 0)) {
    const end = piece.end
    const to = Math.min(part.end, blankEnd(text, end))
    const tokens = countTokens(text.slice(from, to))
    const unit = { start: piece.start, end, from, to, tokens, cut: false, heading: piece.heading }
    // Without the blank before it, a word may have more tokens.
    if (tokens > maxTokens - 8 && countTokens(text.slice(piece.start, end)) > maxTokens)
      yield* cutUnit(text, unit, maxTokens)
    else yield unit
    from = to
  }
}

/** After the last line end of the blanks that begin here; where there is none, here. */
function blankEnd(text: string, at: number): number {
  let end = at
  for (let index = at; index < text.length && index - at < longestWindow && isBlank(text, index); index++)
    if (text[index] === '\n') end = index + 1
  return end
}

function isBlank(text: string, index: number): boolean {
  const code = text.charCodeAt(index)
  return code === 32 || (code >= 9 && code <= 13) || (code >= 160 && /\s/.test(text[index]))
}

interface Piece extends Range {
  heading: boolean
}

/** Sentences, rows and headings, without blanks around them. A row of at most so many tokens is whole, however long. */
function* pieces(
  { text, headings, rows }: ParsedDocument,
  part: Range,
  wholeTokens: number,
): Generator<Piece> {
  const inside = headings.slice(firstIndexFrom(headings, part.start), firstIndexFrom(headings, part.end))
  const reaching = firstIndexFrom(rows, part.start)
  const tables = rows.slice(
    reaching > 0 && rows[reaching - 1].end > part.start ? reaching - 1 : reaching,
    firstIndexFrom(rows, part.end),
  )
  const titles = inside.map(({ start }) => ({
    start,
    end: lineEnd(text, start, part.end),
    kind: 'heading' as const,
  }))
  const special = [
    ...titles,
    ...tables.map(({ start, end }) => ({
      start: Math.max(start, part.start),
      end: Math.min(end, part.end),
      kind: 'rows' as const,
    })),
  ].sort((a, b) => a.start - b.start)
  let at = part.start
  for (const { start, end, kind } of special) {
    if (end <= at) continue
    yield* prose(text, { start: at, end: start })
    at = Math.max(at, start)
    if (kind === 'heading') yield* trimmed(text, at, end, true)
    else yield* rowsOf(text, { start: at, end }, wholeTokens)
    at = end
  }
  yield* prose(text, { start: at, end: part.end })
}

function lineEnd(text: string, start: number, most: number): number {
  const end = text.indexOf('\n', start)
  return end === -1 ? most : Math.min(end, most)
}

/** Index of the first that starts at `start` or after it. */
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

function* trimmed(text: string, start: number, end: number, heading = false): Generator<Piece> {
  while (start < end && isBlank(text, start)) start++
  while (end > start && isBlank(text, end - 1)) end--
  if (start < end) yield { start, end, heading }
}

function* rowsOf(text: string, { start, end }: Range, wholeTokens: number): Generator<Piece> {
  while (start < end) {
    const stop = lineEnd(text, start, end)
    const whole =
      stop - start <= longestRow ||
      (stop - start <= wholeTokens * longestToken && countTokens(text.slice(start, stop)) <= wholeTokens)
    if (!whole) yield* prose(text, { start, end: stop })
    else yield* trimmed(text, start, stop)
    start = stop + 1
  }
}

/** Paragraph by paragraph, and sentence by sentence in it. */
function* prose(text: string, { start, end }: Range): Generator<Piece> {
  while (start < end) {
    const most = Math.min(end, start + longestWindow)
    const stop = most === end ? end : windowEnd(text, start, most)
    for (const paragraph of paragraphs(text, start, stop)) yield* sentencesOf(text, paragraph)
    start = stop
  }
}

/** Best after a blank line, else after a line, else after a word, else between two characters; never in the window's first half. */
function windowEnd(text: string, start: number, most: number): number {
  const half = start + ((most - start) >> 1)
  const window = text.slice(half, most)
  for (const border of ['\n\n', '\n', '. ', ' ']) {
    const found = window.lastIndexOf(border)
    if (found !== -1) return half + found + border.length
  }
  return wholeCharacter(text, most)
}

/** A place near, and not after, that does not separate the halves of a character. */
function wholeCharacter(text: string, at: number): number {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
    ? at - 1
    : at
}

function* paragraphs(text: string, start: number, end: number): Generator<Range> {
  const window = text.slice(start, end)
  let from = 0
  for (const blank of window.matchAll(/\n[^\S\n]*\n\s*|\s{200,}/g)) {
    yield { start: start + from, end: start + blank.index }
    from = blank.index + blank[0].length
  }
  yield { start: start + from, end }
}

/** A line end within a sentence is like a blank to what divides sentences. */
function* sentencesOf(text: string, { start, end }: Range): Generator<Piece> {
  const lines = text.slice(start, end).split('\n')
  const joined = lines
    .map((line, index) => {
      if (index === lines.length - 1) return line
      return (
        line +
        (line.length >= shortestWrapped && !begins.test(lines[index + 1]) && !/^\s*\|/.test(line)
          ? ' '
          : '\n')
      )
    })
    .join('')
  for (const { index, segment } of sentences.segment(joined))
    yield* trimmed(text, start + index, start + index + segment.length)
}

/** Parts of at most so many tokens: cut between words where there are any, else between characters. */
function* cutUnit(text: string, { start, end, to, heading }: Unit, maxTokens: number): Generator<Unit> {
  let at = start
  let tokens = 0
  let from = start
  for (const word of wordsOf(text, start, end, Math.max(16, Math.floor(maxTokens / 3) - 1))) {
    const more = countTokens(text.slice(word.start, word.end))
    if (tokens + more > maxTokens && at > from) {
      yield* bounded(text, from, at, heading, maxTokens)
      from = word.start
      tokens = 0
    }
    at = word.end
    tokens += more
  }
  for (const unit of bounded(text, from, at, heading, maxTokens))
    yield unit.end === end ? { ...unit, to } : unit
}

/** Counted as the whole that it is; halved in the rare case that this is more than its words are. */
function* bounded(
  text: string,
  from: number,
  to: number,
  heading: boolean,
  maxTokens: number,
): Generator<Unit> {
  for (const { start, end } of trimmed(text, from, to)) {
    const tokens = countTokens(text.slice(start, end))
    const middle = wholeCharacter(text, (start + end) >> 1)
    if (tokens <= maxTokens || middle === start) {
      yield { start, end, from, to, tokens, cut: true, heading }
      continue
    }
    yield* bounded(text, from, middle, heading, maxTokens)
    yield* bounded(text, middle, to, heading, maxTokens)
  }
}

/** Words with the blanks before them, cut to a length: a UTF-16 unit is at most three tokens. */
function* wordsOf(text: string, start: number, end: number, longest: number): Generator<Range> {
  const words = /\s*\S+/y
  const sentence = text.slice(start, end)
  for (let match = words.exec(sentence); match !== null; match = words.exec(sentence)) {
    let from = start + match.index
    const stop = from + match[0].length
    while (stop - from > longest) {
      const cut = characterEnd(text, from, from + longest)
      yield { start: from, end: cut }
      from = cut
    }
    if (stop > from) yield { start: from, end: stop }
  }
}

const attached = /^(?:\p{M}|\u200d)/u

/** Marks stay with their letter, unless it has a flood of them. */
function characterEnd(text: string, start: number, most: number): number {
  let end = wholeCharacter(text, most)
  for (let back = 0; back < 8 && end - 1 > start && attached.test(text.slice(end, end + 2)); back++)
    end = wholeCharacter(text, end - 1)
  return attached.test(text.slice(end, end + 2)) ? wholeCharacter(text, most) : end
}
