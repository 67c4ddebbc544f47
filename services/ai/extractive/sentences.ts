// Splits a passage into quotable parts: its sentences or, in a CSV or JSON document, its records (one per
// line).
import { hasRecords } from '../parsing/detect-type.ts'
import type { RetrievedPassage } from '../search/search.ts'
import { foldAccents, tokenize } from '../knowledge/tokenize.ts'
import { truncateText } from '../../../infra/text.ts'

/** UTF-16 code units of a quote. A longer sentence is cut at a word. */
const maxQuoteLength = 500

export interface Sentence {
  passage: RetrievedPassage
  /** Offsets in the text of the passage. */
  start: number
  end: number
  words: Set<string>
  /** A record may be too long for a quote; `quotableRange` selects a part. */
  isRecord: boolean
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' })
/**
 * A line break that starts a new block: after an empty line or a heading; before a list item or a table row.
 * It matches the line break before it looks back, so that it looks back once per line.
 */
const blockBreaks =
  /\n(?=[ \t]*(?:\n|#{1,6} |[-*+•] |\d{1,3}[.)] |\||>|```))|\n(?<=(?:^|\n)[ \t]*#{1,6} [^\n]*\n)/g

/** Its sentences without headings, or its records. A line break within a block counts as a space. */
export function sentencesOf(passage: RetrievedPassage): Sentence[] {
  if (hasRecords(passage.name, passage.content_type)) return recordsOf(passage)
  const sentences: Sentence[] = []
  let from = 0
  for (const end of [
    ...[...passage.text.matchAll(blockBreaks)].map(({ index }) => index),
    passage.text.length,
  ]) {
    const block = passage.text.slice(from, end)
    if (!/^\s*(#{1,6} |```)/.test(block)) {
      for (const { segment, index } of segmenter.segment(block.replace(/\s/g, ' ')))
        sentences.push(...sentenceOf(passage, from + index, from + index + segment.length))
    }
    from = end
  }
  return sentences
}

/** Markup before a sentence: list bullets, numbers and quote marks. */
const leadingMarkup = /^(?:\s|[-*+•>|]\s|\d{1,3}[.)]\s)+/

function sentenceOf(passage: RetrievedPassage, start: number, end: number): Sentence[] {
  const text = passage.text.slice(start, end)
  const from = start + (leadingMarkup.exec(text)?.[0].length ?? 0)
  const to = cutEnd(passage.text, from, Math.max(from, start + text.trimEnd().length))
  const words = wordsIn(passage.text.slice(from, to))
  return words.size === 0 ? [] : [{ passage, start: from, end: to, words, isRecord: false }]
}

/** The end of a quote from `from`: at most `maxQuoteLength` later, at the end of a word if possible. */
function cutEnd(text: string, from: number, to: number): number {
  if (to - from <= maxQuoteLength) return to
  const quote = truncateText(text.slice(from, to), maxQuoteLength)
  const blank = quote.search(/\s\S*$/)
  return from + (blank > 0 ? blank : quote.length)
}

function recordsOf(passage: RetrievedPassage): Sentence[] {
  return [...passage.text.matchAll(/\S[^\n]*/g)].map(({ 0: line, index }) => ({
    passage,
    start: index,
    end: index + line.trimEnd().length,
    words: wordsIn(line),
    isRecord: true,
  }))
}

/** The names of the fields of a single record, or the text before the colon in `Name: …`. */
export function namesIn(sentence: Sentence): string[] {
  const text = sentence.passage.text.slice(sentence.start, sentence.end)
  if (!sentence.isRecord) return [/^[^:\n]{1,60}(?=: )/.exec(text)?.[0] ?? '']
  return isListItem(sentence)
    ? []
    : fieldsOf(text).map(({ start, end }) => /^[^:]{1,60}(?=: )/.exec(text.slice(start, end))?.[0] ?? '')
}

interface Range {
  start: number
  end: number
}

/** Whether a record is a row of a table or an object in a list. Its values belong together. */
function isListItem({ passage: { name, content_type: type, text }, start, end }: Sentence): boolean {
  return (
    /\.[ct]sv$/i.test(name) ||
    /^text\/(?:csv|tab-separated-values)$/.test(type) ||
    /^(?:[^\n]* › )?\d+: /.test(text.slice(start, end))
  )
}

/** How well words match the terms of a question. */
export interface Relevance {
  /** The score of each term against a set of words. */
  match: (words: Set<string>) => number[]
  /** The sum of the scores, weighted by the terms. */
  weigh: (scores: number[]) => number
}

/**
 * The part of a record to quote: a whole row or list item; of any other object the shortest run of fields
 * with the same relevance to the question as all fields, or all fields if only the name of the object is
 * relevant. Each field is matched once, so the time is linear in the record.
 */
export function quotableRange(sentence: Sentence, { match, weigh }: Relevance): Range {
  const { passage, start, end } = sentence
  const record = passage.text.slice(start, end)
  if (end - start <= maxQuoteLength && isListItem(sentence)) return { start, end }
  const prefixLength = /^[^;]*?: (?=[^;]*?: )/.exec(record)?.[0].length ?? 0
  const fields = fieldsOf(record).map((field) => ({
    ...field,
    scores: match(wordsIn(record.slice(Math.max(field.start, prefixLength), field.end))),
  }))
  const best = fields.reduce(
    (scores, field) => scores.map((score, i) => Math.max(score, field.scores[i])),
    match(new Set()),
  )
  if (weigh(best) === 0) return { start, end: cutEnd(passage.text, start, end) }
  const run = shortestRun(fields, best)
  const [from, to] = [start + run.start, start + run.end]
  if (to - from <= maxQuoteLength) return { start: from, end: to }
  const first = fields.reduce((a, b) => (weigh(b.scores) > weigh(a.scores) ? b : a))
  return { start: start + first.start, end: cutEnd(passage.text, start + first.start, start + first.end) }
}

function fieldsOf(record: string): Range[] {
  const starts = [0, ...[...record.matchAll(/; (?=[^;:\s][^;:]*: )/g)].map(({ index }) => index + 2)]
  return starts.map((start, i) => ({
    start,
    end: i === starts.length - 1 ? record.length : starts[i + 1] - 2,
  }))
}

interface Field extends Range {
  /** The score of each term. */
  scores: number[]
}

/** The shortest run of fields that has the best score of every term. */
function shortestRun(fields: Field[], best: number[]): Range {
  const terms = best.map((_, i) => i).filter((i) => best[i] > 0)
  /** How many fields of the run have the best score of the term. */
  const counts = best.map(() => 0)
  let missing = terms.length
  let shortest = { start: fields[0].start, end: fields[fields.length - 1].end }
  let first = 0
  for (const last of fields) {
    for (const i of terms) if (last.scores[i] === best[i] && counts[i]++ === 0) missing--
    while (missing === 0) {
      if (last.end - fields[first].start < shortest.end - shortest.start)
        shortest = { start: fields[first].start, end: last.end }
      for (const i of terms) if (fields[first].scores[i] === best[i] && --counts[i] === 0) missing++
      first++
    }
  }
  return shortest
}

export function wordsIn(text: string): Set<string> {
  return new Set(tokenize(text).map(foldAccents))
}
