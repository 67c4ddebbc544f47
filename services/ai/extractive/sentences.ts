// What of a passage can be quoted: its sentences, and where its lines are records, the records.
import { hasRecords } from '../parsing/detect-type.ts'
import type { RetrievedPassage } from '../search/search.ts'
import { foldAccents, tokenize } from '../knowledge/tokenize.ts'

/** UTF-16 code units of a quote; a longer sentence is cut at a blank. */
export const longestQuote = 500

export interface Sentence {
  passage: RetrievedPassage
  /** In the passage's text. */
  start: number
  end: number
  words: Set<string>
  /** A record may be longer than a quote: `narrowed` gives what of it to quote. */
  record: boolean
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'sentence' })
/** Where a line begins something of its own: after an empty one, a heading, an item of a list, a row of a table. */
const breaks = /\n(?=[ \t]*(?:\n|#{1,6} |[-*+•] |\d{1,3}[.)] |\||>|```))|(?<=(?:^|\n)[ \t]*#{1,6} [^\n]*)\n/g

/** The sentences of a passage but for its headings, where a line break in the middle of one is a blank; or its records. */
export function sentencesOf(passage: RetrievedPassage): Sentence[] {
  if (hasRecords(passage.name, passage.content_type)) return recordsOf(passage)
  const sentences: Sentence[] = []
  let from = 0
  for (const end of [...[...passage.text.matchAll(breaks)].map(({ index }) => index), passage.text.length]) {
    const block = passage.text.slice(from, end)
    if (!/^\s*(#{1,6} |```)/.test(block)) {
      for (const { segment, index } of segmenter.segment(block.replace(/\s/g, ' ')))
        sentences.push(...sentenceOf(passage, from + index, from + index + segment.length))
    }
    from = end
  }
  return sentences
}

const before = /^(?:\s|[-*+•>|]\s|\d{1,3}[.)]\s)+/

function sentenceOf(passage: RetrievedPassage, start: number, end: number): Sentence[] {
  const text = passage.text.slice(start, end)
  const from = start + (before.exec(text)?.[0].length ?? 0)
  const to = cutEnd(passage.text, from, Math.max(from, start + text.trimEnd().length))
  const words = wordsIn(passage.text.slice(from, to))
  return words.size === 0 ? [] : [{ passage, start: from, end: to, words, record: false }]
}

/** At most `longestQuote` further, after a word if there is one. */
function cutEnd(text: string, from: number, to: number): number {
  if (to - from <= longestQuote) return to
  const blank = text.slice(0, from + longestQuote).search(/\s\S*$/)
  return blank > from
    ? blank
    : from + text.slice(from, from + longestQuote).replace(/[\ud800-\udbff]$/, '').length
}

function recordsOf(passage: RetrievedPassage): Sentence[] {
  return [...passage.text.matchAll(/\S[^\n]*/g)].map(({ 0: line, index }) => ({
    passage,
    start: index,
    end: index + line.trimEnd().length,
    words: wordsIn(line),
    record: true,
  }))
}

/** What is named in it: the fields of a record that is one of its kind, or what a sentence begins with before a colon. */
export function namesIn(sentence: Sentence): string[] {
  const text = sentence.passage.text.slice(sentence.start, sentence.end)
  if (!sentence.record) return [/^[^:\n]{1,60}(?=: )/.exec(text)?.[0] ?? '']
  return isOneOfMany(sentence)
    ? []
    : fieldsOf(text).map(({ start, end }) => /^[^:]{1,60}(?=: )/.exec(text.slice(start, end))?.[0] ?? '')
}

interface Range {
  start: number
  end: number
}

/** A row of a table, or an object in a list: its values belong together. */
function isOneOfMany({ passage: { name, content_type: type, text }, start, end }: Sentence): boolean {
  return (
    /\.[ct]sv$/i.test(name) ||
    /^text\/(?:csv|tab-separated-values)$/.test(type) ||
    /^(?:[^\n]* › )?\d+: /.test(text.slice(start, end))
  )
}

/**
 * What of a record to quote: all of a row or of an object in a list; of any other object the fewest fields that say as much
 * of what is asked, by `said`, as all do, or all of them where its name is what was asked for.
 */
export function narrowed(sentence: Sentence, said: (text: string) => number): Range {
  const { passage, start, end } = sentence
  const record = passage.text.slice(start, end)
  if (end - start <= longestQuote && isOneOfMany(sentence)) return { start, end }
  const fields = fieldsOf(record)
  const names = /^[^;]*?: (?=[^;]*?: )/.exec(record)?.[0].length ?? 0
  const own = said(record.slice(names))
  if (own === 0) return { start, end: cutEnd(passage.text, start, end) }
  const run = shortestRun(
    fields,
    ({ start: from, end: to }) => said(record.slice(Math.max(from, names), to)) >= own,
  )
  const [from, to] = [start + run.start, start + run.end]
  if (to - from <= longestQuote) return { start: from, end: to }
  const best = fields.reduce((a, b) =>
    said(record.slice(b.start, b.end)) > said(record.slice(a.start, a.end)) ? b : a,
  )
  return { start: start + best.start, end: cutEnd(passage.text, start + best.start, start + best.end) }
}

function fieldsOf(record: string): Range[] {
  const starts = [0, ...[...record.matchAll(/; (?=[^;:\s][^;:]*: )/g)].map(({ index }) => index + 2)]
  return starts.map((start, i) => ({
    start,
    end: i === starts.length - 1 ? record.length : starts[i + 1] - 2,
  }))
}

/** The shortest range from a field to itself or a later one that is enough; all of them are. */
function shortestRun(fields: Range[], isEnough: (range: Range) => boolean): Range {
  let best = { start: fields[0].start, end: fields[fields.length - 1].end }
  let last = 0
  for (let first = 0; first < fields.length; first++) {
    last = Math.max(last, first)
    while (last < fields.length && !isEnough({ start: fields[first].start, end: fields[last].end })) last++
    if (last === fields.length) break
    if (fields[last].end - fields[first].start < best.end - best.start)
      best = { start: fields[first].start, end: fields[last].end }
  }
  return best
}

export function wordsIn(text: string): Set<string> {
  return new Set(tokenize(text).map(foldAccents))
}
